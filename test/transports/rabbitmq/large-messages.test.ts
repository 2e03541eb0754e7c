import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { idsOf, stage } from './source-stage.ts';

test('of large messages a consumer holds about 64 MiB, however many it may take at once', async () => {
  const count = 150;
  const { address, broker, join, offered } = await stage();
  const first = await join();
  await first.stop();
  const ids = Array.from({ length: count }, (_, n) => String(n));
  for (const messageId of ids)
    broker.channel.publish(address, '', Buffer.alloc(1_000_000), { messageId, persistent: true });
  const ready = async (): Promise<number> =>
    (await broker.channel.checkQueue(`${address}.stock`)).messageCount;
  await until(async () => (await ready()) === count);
  let mayGoOn = (): void => undefined;
  const goesOn = new Promise<void>((resolve) => {
    mayGoOn = resolve;
  });
  onTestFinished(() => mayGoOn());

  await join({
    batchSize: 200,
    async handle(batch) {
      // The first batch is handled while others arrive, until they are too many.
      if (offered.length > 0) await goesOn;
      else await until(() => batch.signal.aborted);
      offered.push(...batch.messages);
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });

  await expect
    .poll(async () => offered.length > 0 && (await ready()), { timeout: 20_000 })
    .toBeGreaterThan(count - 80);
  mayGoOn();
  await until(() => offered.length >= count);
  await until(async () => (await ready()) === 0);
  expect(idsOf(offered)).toEqual(ids);
});
