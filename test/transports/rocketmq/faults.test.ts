import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LocalRocketmq, startRocketmq } from '../../../dev/servers/rocketmq/rocketmq.ts';
import { type OutgoingMessage, rocketmq, type Transport } from '../../../src/transports.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { until } from '../../support/fixtures/until.ts';
import { startRocketmqEnding } from '../../support/processes/rocketmq-ending-process.ts';
import { BrokerAdmin } from './broker-admin.ts';
import { batchOf, idsOf, receiving } from './traffic.ts';

const queues = 2;
/** A restart takes seconds, but on a machine whose processors are busy up to minutes. */
const restartMs = 150_000;
let server: LocalRocketmq & Required<Pick<LocalRocketmq, 'broker' | 'node'>>;

/** Proxy and broker of its own, in one process, which these tests freeze and kill. */
beforeAll(async () => {
  const started = await startRocketmq({
    env: await inMemory({ ...process.env, ROCKETMQ_ENDPOINTS: '' }),
    settings: { topicRouteServiceCacheExpiredSeconds: 2, topicRouteServiceCacheRefreshSeconds: 1 },
  });
  const { broker, node } = started;
  if (broker === undefined || node === undefined) throw new Error('It was not started here.');
  server = { ...started, broker, node };
}, restartMs);

afterAll(() => server.stop());
afterEach(() => freeze('SIGCONT'));

function freeze(signal: 'SIGCONT' | 'SIGSTOP'): void {
  if (server.node.pid !== undefined) process.kill(server.node.pid, signal);
}

async function stage() {
  const address = `FIFO-${randomUUID()}`;
  const admin = new BrokerAdmin(server.broker);
  await admin.createTopic(address, 'FIFO', queues);
  await admin.createGroup(`${address}-group`, true);
  const transport = rocketmq({ servers: server.endpoints, requestTimeout: '2s', invisibleTime: '10s' });
  onTestFinished(() => transport.close());
  return { address, admin, transport };
}

function answering(transport: Transport, address: string, withinMs: number): Promise<void> {
  return until(() => transport.probe(address).then(() => true), withinMs, 100);
}

/** Publishes as the relay does: what was not acknowledged is sent again once a probe succeeds. */
async function publishAll(
  transport: Transport,
  address: string,
  messages: readonly OutgoingMessage[],
): Promise<number> {
  let open = messages;
  let holds = 0;
  while (open.length > 0) {
    const { hold, outcomes } = await transport.publish({ ...batchOf(address), messages: open });
    open = open.filter((_, place) => outcomes[place]?.kind !== 'acknowledged');
    if (hold === undefined) continue;
    holds += 1;
    await answering(transport, address, restartMs);
  }
  return holds;
}

test('a frozen server holds the transport, messages in flight may be stored, and delivery continues afterwards', async () => {
  const { address, transport } = await stage();
  await publishAll(transport, address, batchOf(address, { key: 'a' }).messages);
  freeze('SIGSTOP');

  const { hold, outcomes } = await transport.publish(
    batchOf(address, { key: 'a' }, { key: 'a' }, { key: 'b' }),
  );

  expect(hold).toEqual({ scope: 'transport', reason: `${server.endpoints[0]} did not answer in time` });
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: true },
  ]);
  await expect(transport.probe(address)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });

  freeze('SIGCONT');
  await answering(transport, address, 30_000);
  await publishAll(transport, address, batchOf(address, { key: 'a' }).messages);
});

test('a consumer reports a frozen server, and all its queues again when it receives from them', {
  tags: ['silent-broker-shown'],
}, async () => {
  const { address, transport } = await stage();
  const told: string[] = [];
  await receiving(transport.source(), {
    addresses: [address],
    group: `${address}-group`,
    assigned: (partitions) => void told.push(`${partitions.length} queues`),
    disconnected: () => void told.push('disconnected'),
  });
  expect(told).toEqual(['2 queues']);
  freeze('SIGSTOP');
  await until(() => told.includes('disconnected'));

  freeze('SIGCONT');
  await until(() => told.at(-1) !== 'disconnected').catch(() => undefined);
  expect(told.at(-1)).toBe('2 queues');
});

test('a killed server loses no message, and each key keeps its order at the consumer', {
  tags: ['rocketmq-unacknowledged-is-unpublished'],
}, async () => {
  const { address, transport } = await stage();
  const messages = Array.from({ length: 600 }, (_, n) => ({
    key: `key-${n % 7}`,
    id: `m-${String(n).padStart(4, '0')}`,
  }));
  const all = batchOf(address, ...messages).messages;
  const disconnections: unknown[] = [];
  const member = await receiving(transport.source(), {
    addresses: [address],
    group: `${address}-group`,
    disconnected: (error) => void disconnections.push(error),
  });

  await publishAll(transport, address, all.slice(0, 200));
  const publishing = publishAll(transport, address, all.slice(200));
  await until(() => member.arrived.length > 210);
  await server.node.stop('SIGKILL');
  await server.node.start();
  // Tells a transport that does not notice the server from a server that is slow to start.
  await answering(transport, address, 30_000);
  const holds = await publishing;

  expect(holds).toBeGreaterThan(0);
  expect(disconnections.length).toBeGreaterThan(0);
  const ids = (): readonly string[] => idsOf(member.arrived);
  await until(() => ids().length === all.length, 60_000);
  for (let key = 0; key < 7; key += 1) {
    const row = ids().filter((id) => Number(id.slice(2)) % 7 === key);
    expect(row).toEqual(row.toSorted());
  }
});

test.each([false, true])(
  'a process exits after it has closed transport and source, with an unreachable server: %s',
  async (away) => {
    const { address } = await stage();
    const ending = await startRocketmqEnding({
      address,
      servers: server.endpoints,
      group: `${address}-group`,
    });
    if (away) await server.node.stop('SIGKILL');

    expect(await ending.endsWithin(3_000)).toBe(true);
  },
  240_000,
);
