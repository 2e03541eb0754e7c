import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';

let world: KafkaFixture;

beforeEach(async () => {
  world = await KafkaFixture.create(2);
});

afterEach(() => world.end());

const by = { actor: 'test' };
const keys = Array.from({ length: 16 }, (_, index) => `k${index}`);

/** Sends the next message of every key, and delivers it. */
async function sendRound(n: number): Promise<void> {
  for (const key of keys) await world.fixture.send(`${key}:${n}`, { key });
  await world.deliver();
}

async function raisePartitions(count: number): Promise<void> {
  const admin = world.broker.admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ topic: world.address, count }] });
  await until(async () => (await admin.fetchTopicOffsets(world.address)).length === count);
  await admin.disconnect();
}

/** How many records each partition holds. */
async function sizes(): Promise<readonly number[]> {
  const admin = world.broker.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(world.address);
  await admin.disconnect();
  return ends.toSorted((a, b) => a.partition - b.partition).map(({ high }) => Number(high));
}

/** A broker that has just started has no coordinator yet. */
async function untilCoordinated(group: string): Promise<void> {
  const admin = world.broker.admin();
  await admin.connect();
  await until(
    async () => (await admin.fetchOffsets({ groupId: group, topics: [world.address] })).length === 1,
  );
  await admin.disconnect();
}

test('keys move to new partitions only by the operation, and a group that has passed all earlier messages sees them in order', {
  tags: ['order-per-key'],
}, async () => {
  const { operations, fixture } = world;
  await sendRound(1);
  await expect(operations.changePartitions(fixture.topic, 4, by)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
  });
  await raisePartitions(4);
  await sendRound(2);
  const [, , third, fourth] = await sizes();
  expect([third, fourth]).toEqual([0, 0]);

  const group = `group-${randomUUID()}`;
  await untilCoordinated(group);
  const groups = [group];
  const lagging = await operations.changePartitions(fixture.topic, 4, { ...by, groups, timeout: 200 });
  expect(lagging).toEqual({ done: false, waitingFor: 'consumers', who: [`${group} (32)`] });
  await fixture.send('k0:3', { key: 'k0' });
  await world.deliver();
  expect((await sizes()).reduce((sum, size) => sum + size)).toBe(32);

  const received = await world.consume(group);
  expect(await operations.changePartitions(fixture.topic, 4, { ...by, groups })).toEqual({
    done: true,
    moved: 0,
  });
  for (const key of keys.slice(1)) await fixture.send(`${key}:3`, { key });
  await world.deliver();
  await until(() => received.length === 48);
  const after = await sizes();
  expect(after.slice(2).every((size) => size > 0)).toBe(true);
  for (const key of keys)
    expect(received.filter((label) => label.startsWith(`${key}:`))).toEqual(
      [1, 2, 3].map((n) => `${key}:${n}`),
    );
  expect(await operations.verify()).toMatchObject({ ok: true, records: 48 });
});

test('one kind of change must be complete before the other begins', async () => {
  const { operations, fixture } = world;
  await sendRound(1);
  await raisePartitions(3);
  await untilCoordinated('nobody');
  await operations.changePartitions(fixture.topic, 3, { ...by, groups: ['nobody'], timeout: 0 });
  await expect(operations.changeLanes(fixture.topic, 2, by)).rejects.toMatchObject({
    code: 'OUTBOX_CHANGE_UNDER_WAY',
  });
  expect(await operations.changePartitions(fixture.topic, 3, by)).toMatchObject({ done: true });
  expect(await operations.changeLanes(fixture.topic, 2, by)).toMatchObject({ done: true });
});
