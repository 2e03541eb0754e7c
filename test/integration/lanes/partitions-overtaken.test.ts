import { expect, test } from 'vitest';
import { type BrokerView, changePartitions } from '../../../src/operations/delivery/partitions.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

const by = { actor: 'test' };

/** Changes the partitions to 4, while `other` happens after the change has begun. */
function overtakenBy(other: () => Promise<unknown>) {
  const view: BrokerView = {
    partitionCount: () => Promise.resolve(4),
    async lag() {
      await other();
      return 0;
    },
  };
  return changePartitions(fixture.database, () => view, 'orders', 4, { ...by, groups: ['readers'] });
}

function change(partitions: number) {
  const view = { partitionCount: () => Promise.resolve(4), lag: () => Promise.resolve(0) };
  return changePartitions(fixture.database, () => view, 'orders', partitions, by);
}

test('a change of partitions that an equal call has completed is done', {
  tags: ['equal-partition-changes-done'],
}, async () => {
  expect(await overtakenBy(() => change(4))).toEqual({ done: true, moved: 0 });
});

test('a change of partitions that another call has replaced is refused by name', {
  tags: ['equal-partition-changes-done'],
}, async () => {
  await expect(overtakenBy(() => change(3))).rejects.toMatchObject({
    code: 'OUTBOX_CHANGE_UNDER_WAY',
    message: 'Another call changes the partitions of "orders".',
    details: { topic: 'orders' },
  });
});
