import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { type Topic, topic } from '../../../src/core/topic.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import type { ConsumerSettings } from '../../../src/inbox/consumer-options.ts';
import type { MessageIdRule } from '../../../src/inbox/reading/message-id.ts';
import { InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic } from '../../support/kafka/kafka-topic.ts';

interface Foreign {
  readonly key?: string;
  readonly value: string;
  readonly headers?: { readonly [name: string]: string };
}

const schema = z.object({ n: z.number() });

let stage: InboxStage;
let running: RunningConsumer | undefined;
/** Topic, id and number of what was handled. */
let handled: string[];
beforeEach(async () => {
  stage = await InboxStage.create(1);
  handled = [];
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await stage.end();
});

/** Records as written by a program without an outbox. */
async function publish(address: string, records: readonly Foreign[]): Promise<void> {
  const producer = stage.kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic: address, messages: records.map((record) => ({ partition: 0, ...record })) });
  await producer.disconnect();
}

async function consume(
  topics: readonly Topic<{ n: number }>[],
  id?: MessageIdRule,
  settings: Partial<ConsumerSettings> = {},
): Promise<RunningConsumer> {
  const made = consumer(stage.prisma, {
    config: { ...stage.config, topics: [...topics] },
    group: stage.group,
    // In order also without keys.
    keyConcurrency: 1,
    quickRetries: [],
    ...settings,
  });
  for (const one of topics) {
    made.on(
      one,
      async (_tx, { id: messageId, payload, topic: name }) =>
        handled.push(`${name} ${messageId} ${payload.n}`),
      id === undefined ? {} : { id },
    );
  }
  running = await made.start();
  return running;
}

const kept = async () => (await stage.kept()).map(({ id, state, reason }) => ({ id, state, reason }));

test('the id comes from a header of another system, and its repeats are dropped', async () => {
  const { topic: orders } = stage;
  await publish(orders.rules.address, [
    { value: '{"n":1}', headers: { 'x-request-id': 'r1' } },
    { value: '{"n":1}', headers: { 'x-request-id': 'r1' } },
    { value: '{"n":2}', headers: { 'x-request-id': 'r2' } },
  ]);

  const inbox = await consume([orders], { header: 'x-request-id' });
  await until(() => inbox.counts().handled === 2 && inbox.counts().duplicates === 1);

  expect(handled).toEqual([`${orders.name} ${orders.name}:r1 1`, `${orders.name} ${orders.name}:r2 2`]);
});

test('of two systems that both count their events from 1 every event is handled and every repeat dropped', async () => {
  const { topic: orders } = stage;
  const payments = topic('payments', schema, { address: await createTopic(stage.kafka) });
  const events = (ce_source: string) =>
    Array.from({ length: 50 }, (_, n) => ({
      value: `{"n":${n + 1}}`,
      headers: { ce_source, ce_id: `${n + 1}` },
    }));
  await publish(orders.rules.address, [...events('/shop'), ...events('/shop')]);
  await publish(payments.rules.address, [...events('/bank'), ...events('/bank')]);

  const inbox = await consume([orders, payments]);
  await until(() => inbox.counts().handled + inbox.counts().duplicates === 200);

  expect(inbox.counts()).toMatchObject({ handled: 100, duplicates: 100 });
  expect(handled.filter((one) => one.endsWith(' 7')).toSorted()).toEqual(
    [`${orders.name} /shop|7 7`, 'payments /bank|7 7'].toSorted(),
  );
});

test('of two systems that both count their events from 1 every event of an unknown topic is kept', async () => {
  const { address } = stage.topic.rules;
  const event = (ce_source: string) => ({
    value: '{"n":1}',
    headers: { ce_source, ce_id: '1', ce_type: 'new' },
  });
  await publish(address, [event('/shop'), event('/bank'), event('/bank')]);

  const inbox = await consume([stage.topic]);
  await until(() => inbox.counts().failed + inbox.counts().duplicates === 3);

  expect((await kept()).map(({ id }) => id).toSorted()).toEqual(['/bank|1', '/shop|1']);
});

test('one request in two topics counts as two messages of one group', async () => {
  const mails = topic('mails', schema, { address: await createTopic(stage.kafka) });
  for (const { rules } of [stage.topic, mails])
    await publish(rules.address, [{ value: '{"n":1}', headers: { 'x-request-id': 'r1' } }]);

  const inbox = await consume([stage.topic, mails], { header: 'x-request-id' });
  await until(() => inbox.counts().handled + inbox.counts().duplicates === 2);

  expect(handled.toSorted()).toEqual(
    [`${stage.topic.name} ${stage.topic.name}:r1 1`, 'mails mails:r1 1'].toSorted(),
  );
});

test.for([
  ['the key', 'key'],
  ['a function', ({ headers }) => `${headers['batch']}/${headers['line']}`],
] as const satisfies readonly (readonly [string, MessageIdRule])[])(
  'the id comes from %s',
  async ([, id]) => {
    const { name, rules } = stage.topic;
    const record = { key: '7/1', value: '{"n":1}', headers: { batch: '7', line: '1' } };
    await publish(rules.address, [record, record]);

    const inbox = await consume([stage.topic], id);
    await until(() => inbox.counts().handled === 1 && inbox.counts().duplicates === 1);

    expect(handled).toEqual([`${name} ${name}:7/1 1`]);
  },
);

test('a message without an id is kept under its offset, and later ones continue', async () => {
  const { rules } = stage.topic;
  await publish(rules.address, [
    { value: '{"n":1}' },
    { value: '{"n":2}', headers: { 'x-request-id': 'r2' } },
  ]);

  const inbox = await consume([stage.topic], { header: 'x-request-id' });
  await until(() => inbox.counts().failed === 1 && inbox.counts().handled === 1);

  expect(await kept()).toEqual([{ id: `${rules.address}/0/0`, state: 'failed', reason: 'no-id' }]);
});

test('the handler gets older versions in the current form, unknown versions are kept', async () => {
  const { name, rules } = stage.topic;
  const versioned = topic(name, schema, {
    version: 3,
    upcast: {
      2: (old) => {
        const { count } = z.object({ count: z.number() }).parse(old);
        return { n: count };
      },
    },
  });
  const ofVersion = (version: string, value: string) => ({
    value,
    headers: { ce_id: `v${version}`, ce_type: name, 'outbox-version': version },
  });
  await publish(rules.address, [
    ofVersion('3', '{"n":3}'),
    ofVersion('2', '{"count":2}'),
    ofVersion('1', '{"old":1}'),
    ofVersion('4', '{"new":4}'),
    { ...ofVersion('2', '{"n":2}'), headers: { ...ofVersion('2', '').headers, ce_id: 'misfit' } },
  ]);

  const inbox = await consume([versioned]);
  await until(() => inbox.counts().handled === 2 && inbox.counts().failed === 3);

  expect(handled).toEqual([`${name} v3 3`, `${name} v2 2`]);
  expect(await kept()).toEqual([
    { id: 'v1', state: 'failed', reason: 'unknown-version' },
    { id: 'v4', state: 'failed', reason: 'unknown-version' },
    { id: 'misfit', state: 'failed', reason: 'invalid' },
  ]);
});

test('unknown types at a shared address are kept by default, and with `ignore` leave no row', {
  tags: ['unknown-messages-fill-no-table'],
}, async () => {
  const { topic: orders } = stage;
  const strangers = Array.from({ length: 20 }, (_, n) => ({
    value: `{"n":${n}}`,
    headers: { ce_id: `s${n}`, ce_type: 'invoice.issued.v1' },
  }));
  const own = { value: '{"n":100}', headers: { ce_id: 'o1', ce_type: orders.name } };
  await publish(orders.rules.address, [...strangers, own]);

  const careful = await consume([orders]);
  await until(() => careful.counts().handled === 1);
  expect(await kept()).toEqual(
    strangers.map(({ headers }) => ({ id: headers.ce_id, state: 'failed', reason: 'unknown-topic' })),
  );
  await careful.stop();

  await publish(orders.rules.address, [
    { value: '{"n":1}', headers: { ce_id: 't1', ce_type: 'invoice.issued.v1' } },
    { value: 'garbage', headers: { ce_id: 't2', ce_type: 'log' } },
    { value: '{"n":101}', headers: { ce_id: 'o2', ce_type: orders.name } },
  ]);
  const deaf = await consume([orders], undefined, { unknown: 'ignore' });
  await until(() => deaf.counts().handled === 1);
  expect(deaf.counts()).toMatchObject({ ignored: 2, failed: 0 });
  expect(await kept()).toHaveLength(strangers.length);
});

test('failed messages of other systems expire once the consumer sets how long they are kept', async () => {
  const { topic: orders } = stage;
  await publish(orders.rules.address, [
    { value: '{}', headers: { ce_id: 's1', ce_type: 'invoice.issued.v1' } },
    { value: '{"n":1}', headers: { ce_id: 'o1', ce_type: orders.name } },
  ]);
  const first = await consume([orders]);
  await until(() => first.counts().handled === 1);
  expect(await kept()).toHaveLength(1);
  await first.stop();
  await stage.age('2 hours');

  await consume([orders], undefined, { keepFailed: '1h' });
  expect(await kept()).toEqual([]);
});
