import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { OneSuspect } from '../../../src/inbox/handling/one-suspect.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import { PoisonMarks } from '../../../src/inbox/intake/poison-marks.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { setMark } from '../../../src/store/inbox/marks.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

/** What a consumer that died has left behind. */
async function leaveMark(ids: readonly string[], kills: number): Promise<void> {
  const partition = { group: inbox.group, address: 'numbers', partition: 0 };
  await setMark(inbox.database, partition, { owner: randomUUID(), ids, kills });
}

const marks = () => inbox.database.query('select from outbox.mark');

test('no message is parked merely because its batch was in hand when the consumer died', async () => {
  inbox = await openInbox();
  await leaveMark(['id-1', 'id-2', 'id-3'], 0);
  inbox.feed(...range(1, 5).map((n) => ({ n })));

  const running = await inbox.consume({ maxKills: 1 });
  await until(() => running.counts().handled === 5);

  expect(await inbox.kept()).toEqual([]);
});

test('a message in hand alone at one death of its consumer too many is failed without being started', async () => {
  inbox = await openInbox();
  await leaveMark(['id-2'], 2);
  inbox.feed(...range(1, 5).map((n) => ({ n })));

  const running = await inbox.consume({ maxKills: 3 });
  await until(() => running.counts().handled + running.counts().failed === 5).catch(() => undefined);

  expect(await inbox.effects()).toEqual([1, 3, 4, 5]);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'killed' }]);
  expect(running.counts().failedAttempts).toBe(0);
});

test('a mark whose messages are done raises no suspicion', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 3).map((n) => ({ n })));
  const first = await inbox.consume();
  await until(() => first.counts().handled === 3);
  await first.stop();
  await leaveMark(['id-1', 'id-2', 'id-3'], 0);
  inbox.feed(...range(4, 23).map((n) => ({ n })));

  const next = await inbox.consume({ batch: { size: 20 } });
  await until(() => next.counts().handled === 20);

  const rows = await inbox.database.query('select from effect where n > 3 group by xmin::text');
  expect(rows, 'in one batch, not singly').toHaveLength(1);
});

test('a consumer that stops leaves no mark', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 3).map((n) => ({ n })));
  const running = await inbox.consume();
  await until(() => running.counts().handled === 3);
  expect(await marks()).toHaveLength(1);

  await running.stop();

  expect(await marks()).toEqual([]);
});

test('a consumer that rejoins finds the marks that another owner of its partition left', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({ maxKills: 3 });
  inbox.feed({ n: 1 });
  await until(() => running.counts().handled === 1);

  // The group changes, and the partition stays where it was.
  const other = await inbox.consume({ maxKills: 3 });
  await leaveMark(['id-2'], 2);
  await other.stop();
  inbox.feed({ n: 2 }, { n: 3 });
  await until(() => running.counts().handled === 2);

  expect(await inbox.effects()).toEqual([1, 3]);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'killed' }]);
});

function newMember({ group, prisma }: MemoryInbox): PoisonMarks<Transaction> {
  return new PoisonMarks({
    client: new InboxTransactions<Transaction>(prisma, 5_000),
    rules: resolveConsumerRules({ group, maxKills: 3 }),
    suspects: new OneSuspect(),
  });
}

test('when members that share a partition die of a message, it is failed while another member continues', {
  tags: ['killing-message-fails'],
}, async () => {
  inbox = await openInbox();
  const shared = { address: 'numbers', partition: 0 };
  const member = () => newMember(inbox);
  const living = member();
  const goesOn = (n: number): Promise<boolean> => living.begin(shared, [`other-${n}`]);

  const began: string[] = [];
  for (let start = 1; start <= 5; start += 1) {
    expect(await goesOn(start)).toBe(true);
    // Each one is a process of its own, which leaves what it has marked.
    const dying = member();
    if (await dying.begin(shared, ['before', 'deadly'])) began.push('with others');
    else if (await dying.beginOne(shared, 'deadly')) began.push('alone');
    else began.push('failed');
  }

  expect(began).toEqual(['with others', 'alone', 'alone', 'failed', 'failed']);
  // Nor does the remaining one begin it, if it gets it.
  expect(await living.begin(shared, ['other-6', 'deadly'])).toBe(false);
  expect(await living.beginOne(shared, 'other-6')).toBe(true);
  expect(living.endOne(shared, 'other-6')).toBe(true);
  expect(await living.beginOne(shared, 'deadly')).toBe(false);
  expect(living.endOne(shared, 'deadly')).toBe(false);
  expect(await goesOn(7)).toBe(true);
});

test('marks untouched for a day are deleted', async () => {
  inbox = await openInbox();
  const { database } = inbox;
  await leaveMark(['id-1'], 2);
  await database.query(`update outbox.mark set begun_at = begun_at - interval '25 hours'`);
  const mine = newMember(inbox);

  expect(await mine.begin({ address: 'numbers', partition: 1 }, ['id-2'])).toBe(true);

  expect(await marks()).toHaveLength(1);
});
