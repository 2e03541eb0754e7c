import type { Admin } from 'kafkajs';
import { expect, test } from 'vitest';
import { createUntilShown } from '../../../../src/brokers/kafka/client/topics.ts';

/** Brokers that show a topic at the third look after its creation, and whose leaders are never known. */
function slowBrokers(existing: readonly string[] = []): Pick<Admin, 'createTopics' | 'listTopics'> & {
  readonly looks: () => number;
} {
  const topics = new Set(existing);
  let looks = 0;
  return {
    createTopics({ topics: [wanted], waitForLeaders = true }) {
      if (waitForLeaders) return Promise.reject(new Error('This server does not host this topic-partition'));
      const known = topics.has(String(wanted?.topic));
      topics.add(String(wanted?.topic));
      return Promise.resolve(!known);
    },
    listTopics() {
      looks += 1;
      return Promise.resolve(looks < 3 ? existing.slice() : [...topics]);
    },
    looks: () => looks,
  };
}

test('a topic is created where the brokers know of it later than the controller', async () => {
  const brokers = slowBrokers(['others']);
  await expect(createUntilShown(brokers, 'orders', 4)).resolves.toBe(true);
  await expect(brokers.listTopics()).resolves.toEqual(['others', 'orders']);
  expect(brokers.looks()).toBe(4);
});

test('a topic that exists is not waited for', async () => {
  const brokers = slowBrokers(['orders']);
  await expect(createUntilShown(brokers, 'orders', 4)).resolves.toBe(false);
  expect(brokers.looks()).toBe(0);
});

test('an address that is no name of a topic is refused, and the forgotten transport is named', async () => {
  const brokers = slowBrokers();
  await expect(createUntilShown(brokers, 'http://127.0.0.1:8080/in', 1)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    message: expect.stringContaining('Is the setting "transport" of its topic missing?'),
  });
  expect(brokers.looks()).toBe(0);
});
