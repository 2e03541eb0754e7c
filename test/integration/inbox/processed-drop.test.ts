import { expect, test } from 'vitest';
import { carryKept, carryLive, dropEpoch, readEpochs } from '../../../src/store/inbox/epochs.ts';
import { EpochFixture } from '../../support/fixtures/epoch-fixture.ts';

const pace = { patienceMs: 300, pauseMs: 0 };

test('an epoch is dropped only after the ids of its live and kept messages are carried over', async ({
  onTestFinished,
}) => {
  const fixture = await EpochFixture.create();
  onTestFinished(() => fixture.drop());
  const { database } = fixture;
  await fixture.mark(['kept']);
  await database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('g', 'kept', 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
  );
  await fixture.roll();
  const [ended] = await readEpochs(database);
  const epoch = ended?.epoch ?? '';

  expect((await carryLive(database, epoch)).complete).toBe(true);
  expect(await dropEpoch(database, epoch, pace)).toBe(false);
  expect(await fixture.mark(['kept'])).toEqual([]);
  expect((await carryKept(database, epoch)).complete).toBe(true);
  await database.query('update outbox.processed_epoch set live_done = false');
  expect(await dropEpoch(database, epoch, pace)).toBe(false);

  await database.query('update outbox.processed_epoch set live_done = true');
  expect(await dropEpoch(database, epoch, pace)).toBe(true);
  expect(await fixture.mark(['kept'])).toEqual([]);
});
