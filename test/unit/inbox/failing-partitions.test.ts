import { expect, test } from 'vitest';
import { FailingPartitions } from '../../../src/inbox/failing-partitions.ts';

const at = (offset: string, partition = 0) => ({ address: 'orders', partition, offset });

test('tries are counted per message, and the first failure says since when', () => {
  const failing = new FailingPartitions();
  failing.failed(at('5'), 'orders', new Error('first'));
  const [first] = failing.list();
  failing.failed(at('5'), 'orders', new Error('second'));

  expect(failing.attempts(at('5'))).toBe(2);
  expect(failing.attempts(at('6'))).toBe(0);
  expect(failing.list()).toEqual([
    { ...at('5'), topic: 'orders', error: new Error('second'), attempts: 2, since: first?.since },
  ]);
});

test('a later message of the partition begins to count anew', () => {
  const failing = new FailingPartitions();
  failing.failed(at('5'), undefined, 'a');
  failing.failed(at('6'), undefined, 'b');

  expect(failing.list()).toMatchObject([{ offset: '6', attempts: 1 }]);
});

test('only a message that had failed resumes its partition', () => {
  const failing = new FailingPartitions();
  failing.failed(at('5'), undefined, 'a');

  expect(failing.settled(at('4'))).toBe(false);
  expect(failing.settled(at('5'))).toBe(true);
  expect(failing.settled(at('5'))).toBe(false);
  expect(failing.list()).toEqual([]);
});

test('a partition that went to another consumer is no longer told of', () => {
  const failing = new FailingPartitions();
  failing.failed(at('5', 0), undefined, 'a');
  failing.failed(at('5', 1), undefined, 'b');
  failing.keepOnly([{ address: 'orders', partition: 1 }]);

  expect(failing.list()).toMatchObject([{ partition: 1 }]);
});
