import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { HandlerContext } from '../../../src/inbox/handler.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { testGate } from '../../support/fixtures/gate.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

let inbox: MemoryInbox;
afterEach(() => inbox.end());

/** Works until its signal fires, and ends by reporting that. */
function untilGivenUp({ signal }: HandlerContext): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

test('the signal of a handler fires at the limit of its transaction', {
  tags: ['handler-signal-fires'],
}, async () => {
  inbox = await MemoryInbox.create();
  const awakeMs = awake();
  let firedMs = Infinity;
  const running = await inbox.consume({
    transactionTimeout: 1_000,
    quickRetries: [],
    retry: ['1h'],
    before: async (_message, context) => {
      const begunMs = awakeMs();
      await untilGivenUp(context).finally(() => (firedMs = awakeMs() - begunMs));
    },
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(() => running.counts().parked === 1);

  // One that does not heed it is given up 5 s later.
  expect(firedMs).toBeLessThan(5_000);
  expect(await inbox.effects()).toEqual([]);
  expect(running.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([
    { error: { code: 'OUTBOX_HANDLER_STUCK', details: { limitMs: 1_000 } } },
  ]);
});

test('the signal of a handler fires when its partition moves to another consumer, and its message uses up no try', async () => {
  inbox = await MemoryInbox.create({ partitions: 2 });
  const reasons: unknown[] = [];
  let begun = false;
  const first = await inbox.consume({
    name: 'first',
    // The one that waits would end by its limit, and the other one waits for its id.
    transactionTimeout: '1m',
    before: async ({ partition }, context) => {
      begun = true;
      if (partition === 1)
        await untilGivenUp(context).catch((reason: unknown) => {
          reasons.push(reason);
          throw reason;
        });
    },
  });
  inbox.feed({ n: 1, key: 'a', partition: 1 });
  await until(() => begun);

  // Of two consumers the second one gets every second partition.
  const second = await inbox.consume({ name: 'second' });
  await until(() => second.counts().handled === 1);

  expect(reasons).toMatchObject([{ code: 'OUTBOX_HANDLER_GIVEN_UP' }]);
  expect(await inbox.effects()).toEqual([1]);
  expect(await inbox.kept()).toEqual([]);
  expect(first.counts()).toMatchObject({ handled: 0, parked: 0, failed: 0, failedAttempts: 0 });
  expect(first.events.filter(({ type }) => type === 'attempt-failed')).toEqual([]);
});

test('the signal of a handler fires at the end of the time of a stop, and its message is left to the next start', {
  tags: ['handler-signal-fires'],
}, async () => {
  inbox = await MemoryInbox.create();
  let begun = false;
  const first = await inbox.consume({
    transactionTimeout: '1m',
    batch: { size: 10 },
    before: async (_message, context) => {
      begun = true;
      await untilGivenUp(context);
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });
  await until(() => begun);
  const begunAt = performance.now();

  await first.stop({ timeout: 200 });

  expect(performance.now() - begunAt).toBeLessThan(10_000);
  expect(first.counts()).toMatchObject({ handled: 0, parked: 0, failedAttempts: 0 });
  const second = await inbox.consume();
  await until(() => second.counts().handled === 2);
  expect(await inbox.effects()).toEqual([1, 2]);
});

test('a stop abandons a handler that ignores the signal, and its effect does not occur besides that of the next one', async ({
  onTestFinished,
}) => {
  inbox = await MemoryInbox.create();
  const resume = testGate({ onTestFinished });
  let begun = false;
  const first = await inbox.consume({
    transactionTimeout: '20s',
    before: async () => {
      begun = true;
      await resume.opened;
    },
  });
  inbox.feed({ n: 1, key: 'a' });
  await until(() => begun);
  const begunAt = performance.now();

  await first.stop({ timeout: 200 });

  expect(performance.now() - begunAt).toBeLessThan(10_000);
  const second = await inbox.consume();
  resume.open();
  await until(async () => (await second.status()).lag === 0);
  expect(await inbox.effects()).toEqual([1]);
  expect(await inbox.kept()).toEqual([]);
});

test('a parked message in hand at the end of the time of a stop uses up no try', {
  tags: ['handler-signal-fires'],
}, async () => {
  inbox = await MemoryInbox.create();
  let parked = false;
  const first = await inbox.consume({
    transactionTimeout: '1m',
    quickRetries: [],
    retry: [10, '1h'],
    before: async ({ attempt }, context) => {
      if (attempt === 1) throw new Error('the bank is closed');
      parked = true;
      await untilGivenUp(context);
    },
  });
  inbox.feed({ n: 1, key: 'a' });
  await until(() => parked, 60_000);

  await first.stop({ timeout: 200 });

  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'parked', attempts: 1, error: 'Error: the bank is closed' },
  ]);
});

test('it uses up no try either if the stop waits for a silent Temporal', {
  tags: ['handler-signal-fires'],
}, async ({ onTestFinished }) => {
  let asked = false;
  const silent = createServer(() => (asked = true)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  inbox = await MemoryInbox.create();
  let tries = 0;
  const first = await inbox.consume({
    temporalAddress: `127.0.0.1:${port}`,
    transactionTimeout: '1m',
    quickRetries: [],
    retry: [10, '1h'],
    before: async ({ attempt }, context) => {
      if (attempt === 1) throw new Error('the bank is closed');
      tries += 1;
      await untilGivenUp(context);
    },
  });
  inbox.feed({ n: 1, key: 'a' });
  await until(() => tries > 0 && asked, 60_000);

  await first.stop({ timeout: 100 });

  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'parked', attempts: 1 }]);
  // Each try that begins, or is given back, counts: the first one, the one in hand, and on a busy machine some that were late.
  // A stop whose parts end one after the other begins hundreds.
  const [key] = await inbox.database.query<{ tries: number }>('select tries from outbox.parked_key');
  expect(key?.tries).toBeLessThanOrEqual(10);
});
