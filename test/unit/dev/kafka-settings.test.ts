import { expect, test } from 'vitest';
import {
  brokerSettings,
  containerEnvironment,
  propertiesText,
} from '../../../dev/servers/kafka/kafka-settings.ts';

const plan = { nodeId: 1, port: 9092, controllerPort: 9093, brokers: 1, logFolder: '/data' };

test('only the first broker is a controller', () => {
  expect(brokerSettings(plan)['process.roles']).toBe('broker,controller');
  const second = brokerSettings({ ...plan, nodeId: 2, brokers: 2 });
  expect(second['process.roles']).toBe('broker');
  expect(second['listeners']).toBe('PLAINTEXT://127.0.0.1:9092');
});

test("Kafka's own topics have as many replicas as there are brokers, at most three", () => {
  const replicas = [1, 2, 3, 5].map(
    (brokers) => brokerSettings({ ...plan, brokers })['offsets.topic.replication.factor'],
  );

  expect(replicas).toEqual(['1', '2', '3', '3']);
});

test('a path keeps its backslashes in a properties file', () => {
  expect(propertiesText({ 'log.dirs': 'C:\\data' })).toBe('log.dirs=C:\\\\data\n');
});

test('the image takes each setting as a variable', () => {
  expect(containerEnvironment({ 'log.dirs': '/data', listeners: 'x' })).toEqual({
    KAFKA_LOG_DIRS: '/data',
    KAFKA_LISTENERS: 'x',
  });
});
