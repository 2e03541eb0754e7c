import { expect, test } from 'vitest';
import { judgeJournal, lastBatches, unexcusedDuplicates } from '../support/fixtures/journal-check.ts';
import { startLoad } from '../support/fixtures/load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');

test('I1 I3 I9 I11: a relay frozen past its lease writes nothing when it resumes', {
  tags: ['thawed-process-does-no-harm'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const frozen = await stage.relayProcess({
    crash: { point: 'relay:acknowledged', pass: 12, signal: 'SIGSTOP' },
  });
  const load = startLoad(stage, orders, { perSecond: 200 });
  const batchesBy = async (publisher: string): Promise<number> => {
    const [row] = await stage.database.query<{ count: number }>(
      'select count(distinct batch)::integer as count from published where publisher = $1',
      [publisher],
    );
    return row?.count ?? 0;
  };
  await until(async () => (await batchesBy(frozen.publisher)) === 12, 60_000);
  const successor = await stage.relay({}, { publisher: 'successor' });
  // A frozen process still takes tasks that its open polls are answered with, and each costs a heartbeat's timeout.
  await until(async () => (await batchesBy('successor')) > 3, 150_000);
  const before = await batchesBy(frozen.publisher);
  const inFlight = lastBatches(await stage.journal(), [frozen.publisher]);

  frozen.signal('SIGCONT');
  await until(() => frozen.events.some(({ type }) => type === 'lane-lost'), 60_000);
  // From here on it may have further turns of the lane.
  expect(await batchesBy(frozen.publisher)).toBe(before);
  const seenAtThaw = await batchesBy('successor');
  await until(async () => (await batchesBy('successor')) > seenAtThaw + 10, 60_000);
  const committed = await load.stop();
  await stage.untilDelivered(committed, 'orders');

  const journal = await stage.journal();
  expect(judgeJournal(journal, committed)).toMatchObject({ lost: [], ghosts: [], disordered: [] });
  expect(unexcusedDuplicates(journal, inFlight)).toEqual([]);
  expect(successor.events.map(({ type }) => type)).not.toContain('lane-lost');
  // Every batch was settled by one owner: the frozen one's last was not written down a second time.
  const overlapping = await stage.database.query(
    `select a.id from outbox.batch a join outbox.batch b on a.id <> b.id and a.first_position <= b.last_position
       and b.first_position <= a.last_position`,
  );
  expect(overlapping).toEqual([]);
});
