import { expect, test } from 'vitest';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { FailingPartitions } from '../../../src/inbox/intake/failing-partitions.ts';

function stage() {
  const events: ConsumerEvent[] = [];
  return { events, failing: new FailingPartitions((event) => void events.push(event)) };
}

const at = (offset: string, partition = 0) => ({ address: 'orders', partition, offset });

test('tries are counted per message, and the first failure sets the time', () => {
  const { failing } = stage();
  failing.failed(at('5'), 'orders', new Error('first'));
  const [first] = failing.list();
  failing.failed(at('5'), 'orders', new Error('second'));

  expect(failing.attempts(at('5'))).toBe(2);
  expect(failing.attempts(at('6'))).toBe(0);
  expect(failing.list()).toEqual([
    { ...at('5'), topic: 'orders', error: new Error('second'), attempts: 2, since: first?.since },
  ]);
});

test('concurrent messages are counted each, and the partition continues after the last of them', () => {
  const { events, failing } = stage();
  for (const offset of ['6', '5', '6', '5']) failing.failed(at(offset), undefined, 'a');

  expect([failing.attempts(at('5')), failing.attempts(at('6'))]).toEqual([2, 2]);
  expect(failing.list()).toMatchObject([{ offset: '6' }]);
  failing.settled(at('6'));
  expect(failing.list()).toMatchObject([{ offset: '5' }]);
  expect(events).toEqual([]);
  failing.settled(at('5'));
  expect(events).toEqual([{ type: 'partition-resumed', ...at('5') }]);
});

test('a message that is no longer offered is forgotten', () => {
  const { failing } = stage();
  for (const offset of ['5', '6']) failing.failed(at(offset), undefined, 'a');
  failing.failed(at('5', 1), undefined, 'b');
  failing.offered({ address: 'orders', partition: 0 }, () => ['6', '7']);

  expect(failing.list()).toMatchObject([{ offset: '6', partition: 0 }, { partition: 1 }]);
  failing.offered({ address: 'orders', partition: 0 }, () => ['7']);
  expect(failing.list()).toMatchObject([{ partition: 1 }]);
});

test('only a message that had failed resumes its partition', () => {
  const { events, failing } = stage();
  failing.failed(at('5'), undefined, 'a');

  for (const offset of ['4', '5', '5']) failing.settled(at(offset));
  expect(events).toEqual([{ type: 'partition-resumed', ...at('5') }]);
  expect(failing.list()).toEqual([]);
});

test('a partition that moved to another consumer is no longer shown', () => {
  const { failing } = stage();
  failing.failed(at('5', 0), undefined, 'a');
  failing.failed(at('5', 1), undefined, 'b');
  failing.keepOnly([{ address: 'orders', partition: 1 }]);

  expect(failing.list()).toMatchObject([{ partition: 1 }]);
});

test('a pause is reported with its try, and doubles each time unless given', () => {
  const { events, failing } = stage();
  const pauses = [1, 2].map(() => failing.pause(at('5'), 'orders', 'a'));

  expect([...pauses, failing.pause(at('5'), 'orders', 'b', 70)]).toEqual([1_000, 2_000, 70]);
  expect(events).toEqual(
    [
      { attempt: 1, error: 'a', retryInMs: 1_000 },
      { attempt: 2, error: 'a', retryInMs: 2_000 },
      { attempt: 3, error: 'b', retryInMs: 70 },
    ].map((told) => ({ type: 'partition-paused', ...at('5'), ...told })),
  );
});
