import { expect, inject, onTestFinished, test } from 'vitest';
import { operations } from '../../../../src/app/operations/operations.ts';
import { startRelay } from '../../../../src/app/relay/start-relay.ts';
import { cancel } from '../../../../src/outbox/change.ts';
import { send } from '../../../../src/outbox/send.ts';
import { fromQuery, type Transaction } from '../../../../src/store/database/transaction.ts';
import { http, kafka, rabbitmq } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered, quietTemporal } from '../../../support/fixtures/stage.ts';
import { until } from '../../../support/fixtures/until.ts';
import { untilDone } from '../../../support/fixtures/until-done.ts';
import { readTopic } from '../../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../../support/kafka/kafka-topic.ts';
import { httpEndpoint, secret } from '../../http/http-endpoint.ts';
import { brokerAt } from '../../rabbitmq/broker.ts';

const orders = 40;
const url = inject('rabbitmqUrl');
const brokers = inject('kafkaBrokers');

test('I15: of three transports in one commit one is unreachable, and the others are not affected', async () => {
  quietTemporal();
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const broker = await brokerAt(url);
  onTestFinished(() => broker.close());
  const endpoint = await httpEndpoint();
  onTestFinished(() => endpoint.stop());
  const client = observer(brokers);
  const [log, exchange] = [await createTopic(client), await broker.exchange()];
  const placed = numbered('placed', { transport: 'kafka', address: log });
  const shipped = numbered('shipped', { transport: 'rabbitmq', address: exchange });
  const hook = `http://127.0.0.1:${endpoint.port}/orders`;
  const told = numbered('told', { transport: 'webhook', address: hook });
  const config = {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [placed, shipped, told],
    transports: {
      kafka: kafka({ servers: brokers }),
      rabbitmq: rabbitmq({ url }),
      webhook: http({ secret, allow: ['127.0.0.1'] }),
    },
  };
  const commit = <Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> =>
    made.database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values))));
  await endpoint.stop();
  const relay = startRelay(config, { logger: false });
  onTestFinished(() => relay.stop());
  await relay.ready;

  await commit(async (tx) => {
    for (const topic of [placed, shipped, told])
      await send(tx, topic, { n: 0 }, { ref: 'later', after: '1h' });
  });
  for (let n = 1; n <= orders; n += 1)
    await commit(async (tx) => {
      for (const topic of [placed, shipped, told]) await send(tx, topic, { n }, { ref: `order-${n}` });
    });

  await until(async () => (await broker.channel.checkQueue(exchange)).messageCount === orders);
  expect(await readTopic(client, log)).toHaveLength(orders);
  expect(endpoint.requests).toEqual([]);
  const operator = operations(config);
  onTestFinished(() => operator.close());
  const { lanes } = await operator.status();
  expect(lanes.map(({ topic, ready, hold }) => ({ topic, ready, hold: hold?.reason ?? null }))).toEqual([
    // What waits comes first.
    { topic: 'told', ready: orders, hold: expect.stringContaining(`127.0.0.1:${endpoint.port}`) },
    { topic: 'placed', ready: 0, hold: null },
    { topic: 'shipped', ready: 0, hold: null },
  ]);
  for (const topic of [placed, shipped, told]) {
    expect(await commit((tx) => cancel(tx, topic, 'later'))).toBe('canceled');
    expect(await commit((tx) => cancel(tx, topic, `order-${orders}`))).toBe('too-late');
  }

  await endpoint.start();
  await untilDone(made.database);
  expect(
    endpoint.received
      .map(({ payload }) => (JSON.parse(payload) as { n: number }).n)
      .toSorted((a, b) => a - b),
  ).toEqual(Array.from({ length: orders }, (_, place) => place + 1));
});
