import { expect, test } from 'vitest';
import { FailingPartitions } from '../../../src/inbox/intake/failing-partitions.ts';

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

test('messages side by side are counted each, and the partition goes on after the last of them', () => {
  const failing = new FailingPartitions();
  for (const offset of ['6', '5', '6', '5']) failing.failed(at(offset), undefined, 'a');

  expect([failing.attempts(at('5')), failing.attempts(at('6'))]).toEqual([2, 2]);
  expect(failing.list()).toMatchObject([{ offset: '6' }]);
  expect(failing.settled(at('6'))).toBe(false);
  expect(failing.list()).toMatchObject([{ offset: '5' }]);
  expect(failing.settled(at('5'))).toBe(true);
});

test('what is offered no more is forgotten', () => {
  const failing = new FailingPartitions();
  for (const offset of ['5', '6']) failing.failed(at(offset), undefined, 'a');
  failing.failed(at('5', 1), undefined, 'b');
  failing.offered({ address: 'orders', partition: 0 }, () => ['6', '7']);

  expect(failing.list()).toMatchObject([{ offset: '6', partition: 0 }, { partition: 1 }]);
  failing.offered({ address: 'orders', partition: 0 }, () => ['7']);
  expect(failing.list()).toMatchObject([{ partition: 1 }]);
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
