import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { kafka as kafkaTransport } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { kickMember } from '../../support/kafka/kick-member.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

type Transact = (values: readonly string[], end: 'commit' | 'abort', partition?: number) => Promise<number>;

/** Another program, which writes to a topic in transactions. @returns what writes values, and tells the offset of the first */
async function writer(topic: string): Promise<Transact> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: `transactions-${randomUUID()}`,
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  return async (values, end, partition = 0) => {
    const transaction = await producer.transaction();
    const messages = values.map((value) => ({ value, partition }));
    const [sent] = await transaction.send({ topic, messages });
    await transaction[end]();
    return Number(sent?.baseOffset);
  };
}

/** A member of a group. Of what it hands over it calls `handle`, which says how many of a batch are done. */
async function join(
  topic: string,
  group: string,
  handle: (values: readonly string[], mayGoOn: () => boolean) => Promise<number>,
  fromBeginning = true,
) {
  const subscribed = await kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses: [topic],
    group,
    concurrency: 3,
    fromBeginning,
    joinWithinMs: 60_000,
    batchSize: 100,
    async handle(batch) {
      const values = batch.messages.map(({ body }) => Buffer.from(body ?? '').toString());
      const done = await handle(values, () => batch.mayBegin());
      for (const message of batch.messages.slice(0, done)) batch.acknowledge(message);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  return subscribed;
}

test.each([true, false])(
  'a group has no lag behind aborted transactions and the ends of others (from the oldest message on: %s)',
  { tags: ['read-as-kafkajs-reads'], timeout: 120_000 },
  async (fromBeginning) => {
    const topic = await createTopic(kafka);
    const group = `group-${randomUUID()}`;
    const transact = await writer(topic);
    await transact(['before'], fromBeginning ? 'abort' : 'commit');
    const read: string[] = [];
    const member = await join(topic, group, async (values) => read.push(...values), fromBeginning);
    const lag = async () => (await member.lag()).reduce((sum, { messages }) => sum + messages, 0);
    const told = async () =>
      (await kafkaTransport({ servers: brokers }).offsets?.lags([group], [topic])) ?? [];

    for (const [n, end] of (['commit', 'abort', 'commit', 'abort'] as const).entries()) {
      await transact([`value-${n}`], end);
      // Each on its own: an answer that ends with an aborted transaction has nothing to hand over.
      await expect.poll(lag, { timeout: 20_000, message: `behind transaction ${n}` }).toBe(0);
    }
    expect(read).toEqual(['value-0', 'value-2']);
    // This is what the watch of groups that stand still, and alerts, ask for.
    expect(await told()).toEqual([{ group, address: topic, messages: 0 }]);
  },
);

test('no message is lost behind what was skipped, although members leave, join and lose their partitions with batches in hand', {
  tags: ['no-loss'],
}, async () => {
  const numPartitions = 3;
  const topic = await createTopic(kafka, { numPartitions });
  const group = `group-${randomUUID()}`;
  /** Of each partition, what was committed: value by offset. */
  const written = Array.from({ length: numPartitions }, () => new Map<number, string>());
  const aborted = new Set<string>();
  const handled = new Set<string>();
  const admin = kafka.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());

  const handle = async (values: readonly string[], mayGoOn: () => boolean): Promise<number> => {
    let done = 0;
    for (const value of values) {
      if (!mayGoOn()) break;
      await delay(Math.random() * 20);
      // What a batch has done when it is given up counts as done: its effects are stored.
      handled.add(value);
      done += 1;
    }
    return done;
  };
  /** Behind the committed offset is nothing that nobody has handled. */
  const nothingLost = async (): Promise<void> => {
    const [committed] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
    for (const { offset, partition } of committed?.partitions ?? [])
      for (const [at, value] of written[partition] ?? [])
        if (at < Number(offset) && !handled.has(value)) expect.fail(`${value} at ${at} is behind ${offset}`);
  };

  const enough = new AbortController();
  const write = async (name: string): Promise<void> => {
    const transact = await writer(topic);
    for (let n = 0; !enough.signal.aborted; n += 1) {
      const values = Array.from({ length: 1 + (n % 4) }, (_, k) => `${name}-${n}-${k}`);
      const end = Math.random() < 0.5 ? 'abort' : 'commit';
      const partition = n % numPartitions;
      const first = await transact(values, end, partition);
      for (const [k, value] of values.entries())
        if (end === 'abort') aborted.add(value);
        else written[partition]?.set(first + k, value);
      // As much as the members can handle beside all that happens to them.
      await delay(values.length * 10);
    }
  };
  // At once, so that answers begin and end within transactions of both.
  const writing = Promise.all([write('one'), write('two')]);

  const members = [await join(topic, group, handle)];
  for (let n = 0; n < 9; n += 1) {
    const before = handled.size;
    await until(() => handled.size > before + 5, 60_000);
    await nothingLost();
    if (members.length > 1) await members.shift()?.stop();
    else if (n % 3 === 0) await kickMember(brokers, group);
    else members.push(await join(topic, group, handle));
  }
  enough.abort();
  await writing;

  const values = written.flatMap((one) => [...one.values()]);
  expect(values.length).toBeGreaterThan(50);
  expect(aborted.size).toBeGreaterThan(50);
  await until(() => values.every((value) => handled.has(value)), 60_000).catch(() => undefined);
  expect(values.filter((value) => !handled.has(value))).toEqual([]);
  expect([...aborted].filter((value) => handled.has(value))).toEqual([]);
  const lag = async () => ((await members[0]?.lag()) ?? []).map(({ messages }) => messages);
  await expect.poll(lag, { timeout: 20_000 }).toEqual([0, 0, 0]);
  await nothingLost();
});
