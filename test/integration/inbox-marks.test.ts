import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { setMark } from '../../src/store/inbox/marks.ts';
import { range } from '../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { until } from '../support/fixtures/until.ts';

let inbox: MemoryInbox;
afterEach(() => inbox.end());

/** What a consumer that died has left behind. */
async function leaveMark(size: number, lastId: string, kills: number): Promise<void> {
  const partition = { group: inbox.group, address: 'numbers', partition: 0 };
  await setMark(inbox.database, partition, { owner: randomUUID(), size, lastId, kills });
}

const marks = () => inbox.database.query('select from outbox.mark');

test('of a batch whose consumer died no message is parked for that alone', async () => {
  inbox = await MemoryInbox.create();
  await leaveMark(3, 'id-3', 0);
  inbox.feed(...range(1, 5).map((n) => ({ n })));

  const running = await inbox.consume({ maxKills: 1 });
  await until(() => running.counts().handled === 5);

  expect(await inbox.kept()).toEqual([]);
});

test('a message that was in hand alone when its consumer died, once too often, is failed and not begun', async () => {
  inbox = await MemoryInbox.create();
  await leaveMark(1, 'id-2', 2);
  inbox.feed(...range(1, 5).map((n) => ({ n })));

  const running = await inbox.consume({ maxKills: 3 });
  await until(() => running.counts().handled + running.counts().failed === 5);

  expect(await inbox.effects()).toEqual([1, 3, 4, 5]);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'killed' }]);
  expect(running.counts().failedAttempts).toBe(0);
});

test('below its number of deaths such a message is begun again', async () => {
  inbox = await MemoryInbox.create();
  await leaveMark(1, 'id-2', 1);
  inbox.feed(...range(1, 5).map((n) => ({ n })));

  const running = await inbox.consume({ maxKills: 3 });
  await until(() => running.counts().handled === 5);

  expect(await inbox.effects()).toEqual(range(1, 5));
});

test('a mark whose last message is done raises no suspicion', async () => {
  inbox = await MemoryInbox.create();
  inbox.feed(...range(1, 3).map((n) => ({ n })));
  const first = await inbox.consume();
  await until(() => first.counts().handled === 3);
  await first.stop();
  await leaveMark(3, 'id-3', 0);
  inbox.feed(...range(4, 23).map((n) => ({ n })));

  const next = await inbox.consume({ batch: { size: 20 } });
  await until(() => next.counts().handled === 20);

  const rows = await inbox.database.query('select from effect where n > 3 group by xmin::text');
  expect(rows, 'in one batch, not singly').toHaveLength(1);
});

test('a consumer that stops leaves no mark', async () => {
  inbox = await MemoryInbox.create();
  inbox.feed(...range(1, 3).map((n) => ({ n })));
  const running = await inbox.consume();
  await until(() => running.counts().handled === 3);
  expect(await marks()).toHaveLength(1);

  await running.stop();

  expect(await marks()).toEqual([]);
});

test('a consumer that joins anew finds what another owner of its partition has left meanwhile', async () => {
  inbox = await MemoryInbox.create();
  const running = await inbox.consume({ maxKills: 3 });
  inbox.feed({ n: 1 });
  await until(() => running.counts().handled === 1);

  // The group changes, and the partition stays where it was.
  const other = await inbox.consume({ maxKills: 3 });
  await leaveMark(1, 'id-2', 2);
  await other.stop();
  inbox.feed({ n: 2 }, { n: 3 });
  await until(() => running.counts().handled === 2);

  expect(await inbox.effects()).toEqual([1, 3]);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'killed' }]);
});
