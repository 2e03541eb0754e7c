import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeFlush } from '../../../src/brokers/rocketmq/client/flush.ts';
import { type RocketmqOptions, rocketmq } from '../../../src/transports.ts';
import { creationContract } from '../../support/fixtures/creation-contract.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options as plain } from './rocketmq-stage.ts';

const { names } = inject('rocketmq');
const options = { ...plain, nameServers: names } as const satisfies RocketmqOptions;

function at(given: RocketmqOptions = options) {
  const transport = rocketmq({ requestTimeout: '20s', ...given });
  onTestFinished(() => transport.close());
  const { groups, topics } = transport;
  if (groups === undefined || topics === undefined) throw new Error('It declares neither.');
  return { transport, groups, topics };
}

creationContract('rocketmq', () => {
  const transport = rocketmq({ ...options, requestTimeout: '20s' });
  const id = randomUUID();
  return {
    transport,
    address: `orders-${id}`,
    group: `billing-${id}`,
    // A proxy remembers for a time that a topic was missing.
    known: (address) =>
      until(
        () =>
          transport.probe(address).then(
            () => true,
            () => false,
          ),
        30_000,
      ),
  };
});

test('a group of a FIFO topic keeps order, one of a NORMAL topic does not', async () => {
  const { groups } = at();
  const [fifo, normal] = [await newTopic('FIFO', 1), await newTopic('NORMAL', 1)];

  await groups.create(`${normal}-group`, [normal]);
  await groups.create(`${fifo}-group`, [fifo]);

  // As it keeps no order, it does not fit a topic that has one; the other one does.
  await expect(groups.create(`${normal}-group`, [normal, fifo])).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_UNFIT',
    message: expect.stringMatching(new RegExp(`${normal}-group exists and keeps no order, and ${fifo}`)),
  });
  expect(await groups.create(`${fifo}-group`, [fifo, normal])).toEqual([]);
});

test('a group that gives up messages early, and a topic of another type, are errors', async () => {
  const { groups, topics } = at();
  const delay = await newTopic('DELAY', 1);
  const fifo = await newTopic('FIFO', 1);
  await admin.createGroup(`${fifo}-few`, true, 16);

  await expect(topics.create(delay)).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_UNFIT',
    message: expect.stringContaining('the type DELAY'),
  });
  await expect(groups.create(`${fifo}-few`, [fifo])).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_UNFIT',
    message: expect.stringContaining('after 16 retries'),
  });
  await expect(groups.create('billing', ['no-such-topic'])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining('no-such-topic'),
  });
});

test('a name that RocketMQ does not accept is an error with its reason', async () => {
  await expect(at().topics.create('orders.v1')).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_UNFIT',
    message: expect.stringMatching(/refuses the topic orders\.v1: .*illegal/i),
  });
});

test('without name servers nothing is created, and the error names the option', async () => {
  const { groups, topics } = at(plain);
  const missing = { code: 'OUTBOX_CONFIG_MISSING', message: expect.stringContaining('`nameServers`') };

  await expect(topics.create('orders')).rejects.toMatchObject(missing);
  await expect(groups.create('billing', ['orders'])).rejects.toMatchObject(missing);
});

test('the next name server is asked if one is away; if all are, the error has the reason of each', async () => {
  const topic = await newTopic('FIFO', 1);
  expect(await at({ ...plain, nameServers: ['127.0.0.1:1', names] }).topics.create(topic)).toBe(false);

  await expect(at({ ...plain, nameServers: '127.0.0.1:1' }).topics.create(topic)).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/127\.0\.0\.1:1: .*ECONNREFUSED/),
  });
});

test('a broker that acknowledges before its disk has a message is a warning', async () => {
  const { transport } = at();
  expect(await transport.durability?.()).toMatchObject([
    {
      check: 'rocketmq broker-1',
      state: 'warning',
      message: expect.stringContaining('flushDiskType=ASYNC_FLUSH'),
      next: expect.stringContaining('flushDiskType=SYNC_FLUSH'),
    },
  ]);
  expect(await at(plain).transport.durability?.()).toEqual([]);

  // Both can be had only with other brokers.
  expect(judgeFlush('b', new Map([['flushDiskType', 'SYNC_FLUSH']])).state).toBe('ok');
  const replicated = new Map([
    ['flushDiskType', 'ASYNC_FLUSH'],
    ['brokerRole', 'SYNC_MASTER'],
  ]);
  expect(judgeFlush('b', replicated).state).toBe('ok');
});
