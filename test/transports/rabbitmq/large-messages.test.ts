import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { idsOf, type Stage, stage } from './source-stage.ts';

/** A queue with this many messages, before anybody receives from it. */
async function filled(count: number, body: Buffer, headers: Readonly<Record<string, string>> = {}) {
  const given = await stage();
  const first = await given.join();
  await first.stop();
  const ids = Array.from({ length: count }, (_, n) => String(n));
  for (const messageId of ids)
    given.broker.channel.publish(given.address, '', body, { messageId, persistent: true, headers });
  const ready = readyAt(given);
  await until(async () => (await ready()) === count);
  return { ...given, ids, ready };
}

const readyAt =
  ({ address, broker }: Stage) =>
  async (): Promise<number> =>
    (await broker.channel.checkQueue(`${address}.stock`)).messageCount;

/** Handlers wait for it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  onTestFinished(() => open());
  return { opened, open: () => open() };
}

test.each([
  ['bodies', 150, 1_000_000, 0, 80],
  ['headers', 2_500, 10, 60_000, 1_300],
])(
  'of messages with large %s a consumer holds about 64 MiB, however many it may take at once',
  { tags: ['rabbitmq-order-and-effects'] },
  async (_of, count, bodyBytes, headerBytes, atMost) => {
    const header = 'x'.repeat(headerBytes);
    const { ids, join, offered, ready } = await filled(count, Buffer.alloc(bodyBytes), { header });
    const { opened, open } = gate();

    await join({
      batchSize: 2 * count,
      async handle(batch) {
        // The first batch is handled while others arrive, until they are too many.
        if (offered.length > 0) await opened;
        else await until(() => batch.signal.aborted);
        offered.push(...batch.messages);
        for (const message of batch.messages) batch.acknowledge(message);
      },
    });

    await expect.poll(async () => offered.length > 0 && (await ready())).toBeGreaterThan(count - atMost);
    open();
    await until(() => offered.length >= count);
    await until(async () => (await ready()) === 0);
    expect(idsOf(offered)).toEqual(ids);
  },
);

test('after large messages a consumer holds as many small ones as before', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { ids, join, offered, ready, send } = await filled(100, Buffer.alloc(1_000_000));
  const { opened, open } = gate();
  const small = Array.from({ length: 700 }, (_, n) => `small-${n}`);
  await join({
    batchSize: 200,
    async handle(batch) {
      if (offered.length === 0) await until(() => batch.signal.aborted);
      else if (offered.length >= 400) await opened;
      offered.push(...batch.messages);
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await until(() => offered.length >= 100);
  send(...small.slice(0, 300));
  await until(() => offered.length >= 400);

  send(...small.slice(300));

  // Two batches are held, one of them in hand.
  await expect.poll(ready).toBe(0);
  open();
  await until(() => new Set(idsOf(offered)).size === 800);
  expect([...new Set(idsOf(offered))]).toEqual([...ids, ...small]);
});
