import { afterEach, expect, test } from 'vitest';
import { InboxStage, range } from '../support/inbox-stage.ts';
import { until } from '../support/until.ts';

let stage: InboxStage;
afterEach(() => stage.end());

const inRest = (type: string) => type === 'partition-paused';

test('a partition stays at a message that fails, while the others flow', async () => {
  stage = await InboxStage.create(3);
  let healthy = false;
  const running = await stage.consume('one', {
    quickRetries: [1],
    afterEffect: ({ payload, partition }) => {
      if (partition === 0 && payload.n === 3 && !healthy) throw new Error('not yet');
    },
  });
  await stage.publish(range(1, 5).map((n) => ({ n })));
  await until(() => running.events.some(({ type }) => inRest(type)));

  await stage.publish(range(6, 45).map((n) => ({ n, partition: 1 + (n % 2) })));
  await until(() => running.counts().handled === 42);

  expect(await stage.effects(0)).toEqual([1, 2]);
  expect(running.failing()).toMatchObject([{ partition: 0, offset: '2', topic: stage.topic.name }]);
  await until(async () => (await stage.committedOffsets())[0] === 2);

  healthy = true;
  await until(() => running.counts().handled === 45);
  expect(await stage.effects(0)).toEqual([1, 2, 3, 4, 5]);
});

test('pauses grow while a message keeps failing', async () => {
  stage = await InboxStage.create(1);
  const running = await stage.consume('one', {
    quickRetries: [],
    afterEffect: () => {
      throw new Error('never');
    },
  });
  await stage.publish([{ n: 1 }]);
  await until(() => running.counts().failures === 3);

  const pauses = running.events.flatMap((event) =>
    event.type === 'partition-paused' ? [event.retryInMs] : [],
  );
  expect(pauses).toEqual([1_000, 2_000, 4_000]);
});

test.for([
  ['without an id', { ce_type: 'x' }, '{"n":1}', 'no header ce_id'],
  ['whose body is no JSON', undefined, '{"n":', 'not JSON'],
  ['that has no body', undefined, null, 'no body'],
  ['that does not fit its schema', undefined, '{"n":"one"}', 'does not fit'],
] as const)('a message %s holds its partition and shows', async ([, headers, body, why]) => {
  stage = await InboxStage.create(2);
  const running = await stage.consume('one', { quickRetries: [1] });
  const broken =
    headers === undefined ? { n: 1, body } : { n: 1, body, headers: { ce_type: stage.topic.name } };
  await stage.publish([broken, { n: 2 }, { n: 3, partition: 1 }]);

  await until(() => running.events.some(({ type }) => inRest(type)) && running.counts().handled === 1);

  expect(running.failing()).toMatchObject([
    {
      partition: 0,
      offset: '0',
      error: { code: 'OUTBOX_MESSAGE_UNREADABLE', message: expect.stringContaining(why) },
    },
  ]);
  expect(await stage.effects()).toEqual([3]);
});
