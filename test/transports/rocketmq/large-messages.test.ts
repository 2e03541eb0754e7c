import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { rocketmqConnection } from '../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import { rocketmqOver } from '../../../src/brokers/rocketmq/transport/rocketmq-transport.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';
import { idsOf, receiving, stored } from './traffic.ts';

const mebibyte = 1_024 * 1_024;

/** A way to the server that counts what comes back. */
async function counted() {
  let bytes = 0;
  const { hostname, port } = new URL(`http://${options.servers}`);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    upstream.on('data', (chunk) => {
      bytes += chunk.length;
    });
    for (const one of [client, upstream]) one.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address() as AddressInfo;
  return { address: `127.0.0.1:${address.port}`, bytes: () => bytes };
}

test('a member holds about 64 MiB of large messages, and leaves the others to the next one', {
  tags: ['rocketmq-order-and-effects'],
}, async () => {
  const count = 160;
  const address = await newTopic('NORMAL', 2);
  const group = `${address}-group`;
  await admin.createGroup(group, false);
  const sender = rocketmqOver(rocketmqConnection(options));
  onTestFinished(() => sender.close());
  const payload = 'x'.repeat(mebibyte);
  for (let n = 0; n < count; n += 1) await stored(sender, address, { id: `m-${n}`, payload });
  const wire = await counted();
  const holding = rocketmqOver({ ...rocketmqConnection(options), through: () => wire.address });
  onTestFinished(() => holding.close());
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = await receiving(holding.source(), {
    addresses: [address],
    group,
    batchSize: 200,
    async handle(batch) {
      await released;
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  onTestFinished(() => release());
  await until(() => wire.bytes() > 60 * mebibyte);

  const next = await receiving(sender.source(), { addresses: [address], group, batchSize: 200 });

  await expect.poll(() => idsOf(next.arrived).length).toBeGreaterThan(count - 75);
  expect(wire.bytes()).toBeLessThan(80 * mebibyte);
  release();
  await until(() => new Set([...idsOf(first.arrived), ...idsOf(next.arrived)]).size === count);
});
