// @module-tag apart
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, startKafka } from '../../../dev/servers/index.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { configOf, InboxStage, numbered, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

const connectionEvents = new Set(['disconnected', 'connection-resumed']);

let servers: LocalKafka;
let stage: InboxStage;

beforeAll(async () => {
  const { KAFKA_BROKERS: _shared, ...env } = process.env;
  servers = await startKafka({ env });
  stage = await InboxStage.create(2, servers.brokers.join(','));
});
afterAll(async () => {
  await stage.end();
  await servers.stop();
});

test('a consumer waits out the loss of its broker and continues by itself', {}, async () => {
  const running = await stage.consume('one');
  await stage.publish(range(1, 10).map((n) => ({ n, partition: n % 2 })));
  await until(() => running.counts().handled === 10);
  const [node] = servers.nodes;

  await node?.stop();
  await until(() => running.events.filter(({ type }) => type === 'disconnected').length >= 2, 60_000);
  expect(running.health()).toMatchObject({ state: 'running', joined: false });
  expect(running.health().failing).toMatchObject([{ what: 'kafka', error: expect.stringMatching(/\w/) }]);
  await node?.start();
  await stage.publish(range(11, 20).map((n) => ({ n, partition: n % 2 })));
  await until(() => running.counts().handled === 20, 60_000);

  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual(range(1, 20));
  expect(running.counts().failedAttempts).toBe(0);
  expect(running.health()).toMatchObject({ joined: true, failing: [] });
  // A broker that has just started may drop a member once more: every loss, however long, has one end.
  const changes = running.events.map(({ type }) => type).filter((type) => connectionEvents.has(type));
  expect(changes.join(' ')).toMatch(/^((disconnected )+connection-resumed ?)+$/);
});

test('a start that reaches no broker is refused after the given time', async () => {
  const nobody = configOf(stage.url, '127.0.0.1:1', stage.topic);
  const starting = consumer(stage.prisma, { config: nobody, group: stage.group, startTimeout: 5_000 })
    .on(stage.topic, async () => undefined)
    .start();

  await expect(starting).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    details: { servers: ['127.0.0.1:1'] },
  });
});

test('a start on a topic that does not exist is refused, and does not create it', async () => {
  const missing = numbered('nobody-made-this');
  const starting = consumer(stage.prisma, {
    config: configOf(stage.url, stage.brokers, missing),
    group: `${stage.group}-missing`,
    startTimeout: '10s',
  })
    .on(missing, async () => undefined)
    .start();

  await expect(starting).rejects.toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });
  const admin = stage.kafka.admin();
  await admin.connect();
  expect(await admin.listTopics()).not.toContain('nobody-made-this');
  await admin.disconnect();
});

test('a start is refused when the broker keeps messages longer than processed ids are kept', async () => {
  const starting = (window: '6 days' | 'forever') =>
    consumer(stage.prisma, { config: stage.config, group: stage.group, window })
      .on(stage.topic, async () => undefined)
      .start();

  await expect(starting('6 days')).rejects.toMatchObject({ code: 'OUTBOX_WINDOW_TOO_SHORT' });

  const running = await starting('forever');
  await running.stop();
});
