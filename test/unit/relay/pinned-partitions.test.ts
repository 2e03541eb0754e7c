import { expect, test } from 'vitest';
import type { Transport } from '../../../src/brokers/transport.ts';
import { pinnedPartitions } from '../../../src/relay/pinned-partitions.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';

const read = 'select partitions from outbox.topic';
const pin = 'update outbox.topic set partitions';
const asIs = (ask: () => Promise<number>) => ask();

/** A topic whose transport sees a number of partitions, and its database a pinned one. */
function stage(seen?: () => Promise<number>) {
  const { database, broker, input } = drainStage({ address: 'elsewhere' });
  const asked: string[] = [];
  const partitionCount = async (address: string) => {
    asked.push(address);
    return seen?.() ?? 0;
  };
  const transport: Transport = seen === undefined ? broker : Object.assign(broker, { partitionCount });
  return { database, asked, input: { ...input, route: { ...input.route, transport } } };
}

test('a transport without partitions has one, and the database is not asked', async () => {
  const { input, database } = stage();
  expect(await pinnedPartitions(input, asIs)).toBe(1);
  expect(database.asked).toEqual([]);
});

test('the pinned number applies, whatever the broker has now', async () => {
  const { input, database, asked } = stage(async () => 12);
  database.on(read, [{ partitions: 6 }]);
  expect(await pinnedPartitions(input, asIs)).toBe(6);
  expect(asked).toEqual([]);
});

test('the first number is pinned, unless another relay was faster', async () => {
  for (const [pinned, expected] of [
    [12, 12],
    [6, 6],
  ] as const) {
    const { input, database, asked } = stage(async () => 12);
    let before: number | null = null;
    database
      .on(read, () => [{ partitions: before }])
      .on(pin, () => {
        before = pinned;
        return [];
      });
    expect(await pinnedPartitions(input, asIs)).toBe(expected);
    expect(asked).toEqual(['elsewhere']);
    expect(database.valuesOf(pin)).toEqual([['orders', 12]]);
  }
});

test('a broker that cannot be asked is a hold of the topic, and so is one that is given up', async () => {
  const failing = stage(() => Promise.reject(new Error('no broker')));
  failing.database.on(read, [{ partitions: null }]);
  expect(await pinnedPartitions(failing.input, asIs)).toEqual({ scope: 'topic', reason: 'no broker' });

  const stuck = stage(async () => 3);
  stuck.database.on(read, [{ partitions: null }]);
  const hold = await pinnedPartitions(stuck.input, () => Promise.reject(new Error('stuck')));
  expect(hold).toEqual({ scope: 'topic', reason: 'stuck' });
  expect(stuck.database.valuesOf(pin)).toEqual([]);
});
