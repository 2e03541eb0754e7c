import { expect, test } from 'vitest';
import { carryKept, carryLive, dropEpoch, readEpochs } from '../../src/store/inbox/epochs.ts';
import { EpochBench } from '../support/fixtures/epoch-bench.ts';

const pace = { patienceMs: 300, pauseMs: 0 };

test('an epoch is not dropped before the ids of live messages and those of kept ones are carried over', async ({
  onTestFinished,
}) => {
  const bench = await EpochBench.create();
  onTestFinished(() => bench.drop());
  const { database } = bench;
  await bench.mark(['kept']);
  await database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('g', 'kept', 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
  );
  await bench.roll();
  const [ended] = await readEpochs(database);
  const epoch = ended?.epoch ?? '';

  expect((await carryLive(database, epoch)).complete).toBe(true);
  expect(await dropEpoch(database, epoch, pace)).toBe(false);
  expect(await bench.mark(['kept'])).toEqual([]);
  expect((await carryKept(database, epoch)).complete).toBe(true);
  await database.query('update outbox.processed_epoch set live_done = false');
  expect(await dropEpoch(database, epoch, pace)).toBe(false);

  await database.query('update outbox.processed_epoch set live_done = true');
  expect(await dropEpoch(database, epoch, pace)).toBe(true);
  expect(await bench.mark(['kept'])).toEqual([]);
});
