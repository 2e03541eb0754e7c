import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';

let stage: InboxStage;
beforeEach(async () => {
  stage = await InboxStage.create(1);
});
afterEach(() => stage.end());

const withoutTries = { deadLetters: true, quickRetries: [], retry: [] } as const;

/** Makes the topic of dead letters. */
async function makeDeadTopic(maxBytes = 1_000_000): Promise<string> {
  const topic = `${stage.topic.rules.address}.dead`;
  const admin = stage.kafka.admin();
  await admin.connect();
  const configEntries = [{ name: 'max.message.bytes', value: String(maxBytes) }];
  await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1, configEntries }] });
  await until(async () => (await admin.fetchTopicOffsets(topic)).length > 0);
  await admin.disconnect();
  return topic;
}

async function copied(): Promise<number> {
  const rows = await stage.prisma.$queryRawUnsafe<unknown[]>(
    'select 1 from outbox.parked where copied_at is not null',
  );
  return rows.length;
}

test('a failed message is copied to its dead-letter topic with its key, headers, body and failure', {
  tags: ['dead-letters-copied'],
}, async () => {
  const dead = await makeDeadTopic();
  await stage.consume('one', {
    ...withoutTries,
    afterEffect: ({ payload: { n } }) => {
      if (n === 1) throw new Error('the bank is closed');
    },
  });
  const headers = { ce_id: 'order-1', ce_type: stage.topic.name, traceparent: '00-a-b-01' };
  await stage.publish([{ n: 1, key: 'K', headers }, { n: 2 }]);

  await until(async () => (await copied()) === 1);

  const letters = await readTopic(stage.kafka, dead);
  expect(letters).toMatchObject([
    {
      key: 'K',
      payload: '{"n":1}',
      headers: {
        ...headers,
        'outbox-dead-id': 'order-1',
        'outbox-dead-group': stage.group,
        'outbox-dead-from': `${stage.topic.rules.address}/0/0`,
        'outbox-dead-reason': 'error',
        'outbox-dead-attempts': '1',
        'outbox-dead-error': 'Error: the bank is closed',
      },
    },
  ]);
  await until(async () => (await stage.effects()).length > 0);
  expect(await stage.effects()).toEqual([2]);
  expect(await stage.kept()).toMatchObject([{ id: 'order-1', state: 'failed' }]);
});

test('a dead letter that the broker refuses delays no other, not even of its key', {
  tags: ['dead-letters-copied'],
}, async () => {
  const dead = await makeDeadTopic(2_000);
  const settings = {
    ...withoutTries,
    afterEffect: () => {
      throw new Error('no');
    },
  };
  const letter = (n: number, text: string) => ({ n, key: 'K', body: JSON.stringify({ n, text }) });
  // Nothing that a compression makes small.
  const long = randomBytes(5_000).toString('base64');
  await stage.publish([letter(1, long), letter(2, 'short'), letter(3, 'short')]);
  const before = await stage.consume('before', { ...settings, deadLetters: false });
  await until(async () => (await stage.kept()).length === 3);
  await before.stop();
  const running = await stage.consume('one', settings);

  await until(async () => (await copied()) === 2);
  await until(() => running.events.some(({ type }) => type === 'dead-letters-failing'));
  const failing = running.events.find(({ type }) => type === 'dead-letters-failing');
  expect(failing).toMatchObject({ error: { code: 'OUTBOX_DEAD_LETTER_REFUSED' }, retryInMs: 10_000 });
  const bodies = (await readTopic(stage.kafka, dead)).map(({ payload }) => payload);
  expect(bodies).toEqual(['{"n":2,"text":"short"}', '{"n":3,"text":"short"}']);
  expect(await stage.kept()).toMatchObject([{ n: 1 }, { n: 2 }, { n: 3 }]);
});
