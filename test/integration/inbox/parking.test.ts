import { afterEach, expect, test } from 'vitest';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const fails = new Error('the bank is closed');

test('a message that fails is parked, its key queues behind it, other keys continue, and it returns in order', {
  tags: ['waiting-key-blocks-no-other'],
}, async () => {
  inbox = await openInbox();
  let healthy = false;
  const running = await inbox.consume({
    quickRetries: [1],
    // Enough for as long as it is looked at.
    retry: ['100ms', '100ms', ...Array.from({ length: 90 }, () => '500ms' as const)],
    before: ({ payload: { n } }) => {
      if (n === 1 && !healthy) throw fails;
    },
  });
  inbox.feed(...range(1, 3).map((n) => ({ n, key: 'a' })), ...range(4, 6).map((n) => ({ n, key: 'b' })));

  await until(() => running.counts().handled === 3);
  await until(async () => (await running.status()).lag === 0);
  expect(await inbox.effects()).toEqual([4, 5, 6]);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'parked', reason: 'error', key: 'a', error: 'Error: the bank is closed' },
    { n: 2, state: 'parked', reason: null, attempts: 0 },
    { n: 3, state: 'parked', reason: null, attempts: 0 },
  ]);
  expect(await running.status()).toMatchObject({ handled: 3, parked: 3, parkedKeys: 1, failed: 0, lag: 0 });

  healthy = true;
  await until(async () => (await inbox.parkedKeys()) === 0);
  expect(await inbox.effects()).toEqual([4, 5, 6, 1, 2, 3]);
  expect(await inbox.kept()).toEqual([]);

  inbox.feed({ n: 7, key: 'a' });
  await until(() => running.counts().handled === 7);
  await until(async () => (await running.status()).lag === 0);
  expect(await running.status()).toMatchObject({ parked: 0, parkedKeys: 0, failed: 0, lag: 0, inFlight: 0 });
});

test('after its last try a message is failed and its key continues', async () => {
  inbox = await openInbox();
  const attempts: number[] = [];
  const running = await inbox.consume({
    // The other message has as few tries, and must not use them up for lack of time.
    transactionTimeout: '1m',
    quickRetries: [1],
    retry: [50, 50],
    before: ({ attempt, payload: { n } }) => {
      if (n !== 1) return;
      attempts.push(attempt);
      throw fails;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });

  await until(async () => (await inbox.effects()).length === 1 && (await inbox.parkedKeys()) === 0, 60_000);
  // What is counted and told follows the commit.
  await until(() => running.counts().handled === 1);
  await until(() => running.events.some(({ type }) => type === 'failed'));

  expect(attempts).toEqual([1, 2, 2, 3]);
  expect(await inbox.effects()).toEqual([2]);
  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', reason: 'error', attempts: 3 }]);
  expect(await running.status()).toMatchObject({ failed: 1, parked: 0, parkedKeys: 0, handled: 1 });
  expect(running.events).toContainEqual(
    expect.objectContaining({ type: 'failed', id: 'id-1', reason: 'error', error: fails, partition: 0 }),
  );
});

test('under block-key a failed message blocks its key until an operator decides', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: [50],
    exhausted: 'block-key',
    before: ({ payload: { n } }) => {
      if (n === 1) throw fails;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' }, { n: 3, key: 'b' });

  await until(async () => (await running.status()).failed === 1);
  inbox.feed({ n: 4, key: 'a' });
  await until(async () => (await running.status()).parked === 2);
  await until(async () => (await inbox.effects()).length > 0);

  expect(await inbox.effects()).toEqual([3]);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'failed' },
    { n: 2, state: 'parked', attempts: 0 },
    { n: 4, state: 'parked', attempts: 0 },
  ]);
});

test('without further tries a message is failed at once and copied to its dead-letter address once', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: [],
    deadLetters: true,
    before: ({ payload: { n } }) => {
      if (n === 1) throw fails;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });

  await until(() => running.letters.length === 1 && running.counts().handled === 1);

  expect(await inbox.effects()).toEqual([2]);
  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', reason: 'error' }]);
  expect(running.letters).toMatchObject([
    {
      address: 'numbers.dead',
      key: 'a',
      headers: {
        ce_id: 'id-1',
        'outbox-dead-group': inbox.group,
        'outbox-dead-from': 'numbers/0/0',
        'outbox-dead-reason': 'error',
        'outbox-dead-error': 'Error: the bank is closed',
      },
    },
  ]);
  const uncopied = () => inbox.database.query('select from outbox.parked where copied_at is null');
  await until(async () => (await uncopied()).length === 0);
  expect(running.letters).toHaveLength(1);
});

test('a message redelivered while it is kept is dropped, with or without a key', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1h'],
    before: () => {
      throw fails;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2 });
  await until(() => running.counts().parked === 2);

  inbox.feed({ n: 1, key: 'a' }, { n: 2 }, { n: 1, key: 'a' });
  await until(() => running.counts().duplicates === 3);

  expect(await inbox.kept()).toMatchObject([{ n: 1 }, { n: 2 }]);
  expect(await inbox.parkedKeys()).toBe(2);
});

test('a handler that never ends is given up at the limit of its transaction, and delays others only until then', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    // The other one has further tries if a busy machine needs longer for it.
    transactionTimeout: 2_000,
    quickRetries: [],
    retry: ['1s', '1s', '1h'],
    before: ({ payload: { n } }) => (n === 1 ? new Promise(() => undefined) : undefined),
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'b' });

  await until(() => running.counts().handled === 1);

  expect(await inbox.effects()).toEqual([2]);
  await until(async () => (await inbox.kept()).length > 0);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'parked', error: expect.stringContaining('has not ended') },
  ]);
});

test('the inbox works in READ COMMITTED, whatever the default of the database', async ({
  onTestFinished,
}) => {
  inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  await inbox.database.query(
    `alter table effect add column level text default current_setting('transaction_isolation')`,
  );
  const [row] = await inbox.database.query<{ name: string }>('select current_database() as name');
  await inbox.database.query(
    `alter database "${row?.name}" set default_transaction_isolation = 'repeatable read'`,
  );
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });
  const running = await inbox.consume({
    quickRetries: [],
    retry: [50, 50],
    before: ({ attempt, payload: { n } }) => {
      if (n === 1 && attempt === 1) throw fails;
    },
  });

  await until(() => running.counts().handled === 2);

  const rows = await inbox.database.query('select n, level from effect order by seq');
  expect(rows).toEqual([
    { n: 1, level: 'read committed' },
    { n: 2, level: 'read committed' },
  ]);
});

/** What cannot be handled, why, and part of the error. */
const odd: readonly (readonly [differs: object, reason: string, error: string])[] = [
  [{ headers: { ce_type: 'numbers' } }, 'no-id', 'no header ce_id'],
  [{ body: '{"n":' }, 'unreadable', 'not JSON'],
  [{ body: null }, 'unreadable', 'no body'],
  [{ body: '{"n":"one"}' }, 'invalid', 'does not match'],
  [{ headers: { ce_id: 'x', ce_type: 'else' } }, 'unknown-topic', 'not in the config'],
  [{ headers: { ce_id: 'y', ce_type: 'numbers', 'outbox-version': '9' } }, 'unknown-version', 'version 9'],
  [{ key: 'a\0b', headers: { ce_id: 'i\0d', ce_type: 'numbers' } }, 'no-id', 'id'],
];

test('messages that cannot be read are failed with their reasons, once each, and delay no other of their key', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({ quickRetries: [1] });
  inbox.feed(
    ...odd.flatMap(([differs], n) => [
      { n, key: 'a', ...differs },
      { n: 100 + n, key: 'a' },
    ]),
  );

  await until(() => running.counts().handled === odd.length);
  await until(async () => (await running.status()).lag === 0);

  expect(await inbox.effects()).toEqual(odd.map((_, n) => 100 + n));
  expect(await inbox.kept()).toMatchObject(
    odd.map(([, reason, error]) => ({ state: 'failed', reason, error: expect.stringContaining(error) })),
  );
  expect(await running.status()).toMatchObject({ failed: odd.length, parked: 0, lag: 0 });
  expect(running.counts()).toMatchObject({ failed: odd.length, failedAttempts: 0 });

  inbox.source.rewind(inbox.group, 'numbers');
  await until(() => running.counts().duplicates === 2 * odd.length);
  expect(await inbox.kept()).toHaveLength(odd.length);
});

test('of 1,000 keys one is parked for the whole run, and the others continue', {
  tags: ['waiting-key-blocks-no-other'],
}, async ({ onTestFinished }) => {
  inbox = await MemoryInbox.create({ partitions: 4 });
  onTestFinished(() => inbox.end());
  const running = await inbox.consume({
    quickRetries: [1],
    retry: ['1h'],
    before: ({ payload: { n } }) => {
      if (n === 500) throw fails;
    },
  });
  const keyed = (from: number, to: number) =>
    range(from, to).map((n) => ({ n, key: `k${n % 1_000}`, partition: n % 4 }));
  inbox.feed(...keyed(0, 1_999));

  await until(async () => (await running.status()).lag === 0, 90_000);

  const effects = await inbox.effects();
  expect(effects).toHaveLength(1_998);
  expect(await inbox.kept()).toMatchObject([{ n: 500 }, { n: 1_500 }]);
  for (const key of range(0, 999)) {
    if (key === 500) continue;
    expect(effects.filter((n) => n % 1_000 === key)).toEqual([key, key + 1_000]);
  }
});
