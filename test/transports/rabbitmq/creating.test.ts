import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RabbitmqOptions, rabbitmq } from '../../../src/transports.ts';
import { creationContract } from '../../support/fixtures/creation-contract.ts';
import { brokerAt, type TestBroker } from './broker.ts';
import { type OwnNode, startOwnNode, user } from './own-node.ts';

let server: OwnNode;
let broker: TestBroker;

beforeAll(async () => {
  server = await startOwnNode();
  broker = await brokerAt(server.url);
});
afterAll(async () => {
  await broker.close();
  await server.stop();
});

function at(options: Partial<RabbitmqOptions> = {}) {
  const transport = rabbitmq({ url: server.url, ...options });
  onTestFinished(() => transport.close());
  const { groups, topics } = transport;
  if (groups === undefined || topics === undefined) throw new Error('It declares neither.');
  return { groups, topics };
}

const fresh = (): string => `orders-${randomUUID().slice(0, 8)}`;

creationContract('rabbitmq', () => ({
  transport: rabbitmq({ url: server.url }),
  address: fresh(),
  group: 'billing',
}));

test('an exchange is created durable, as a topic exchange or of the given type; others are left as they are', async () => {
  const [usual, fanout, theirs] = [fresh(), fresh(), fresh()];
  await broker.channel.assertExchange(theirs, 'fanout', { durable: false });
  const { topics } = at({ exchanges: { [fanout]: { type: 'fanout' } } });

  expect(await topics.create(usual)).toBe(true);
  expect(await topics.create(fanout)).toBe(true);
  expect(await topics.create(theirs)).toBe(false);

  // The server refuses any other type or durability.
  await broker.channel.assertExchange(usual, 'topic', { durable: true });
  await broker.channel.assertExchange(fanout, 'fanout', { durable: true });
});

test('an exchange, or a queue, with other properties than those of the options is an error', async () => {
  const address = fresh();
  await broker.channel.assertExchange(address, 'topic');
  await broker.channel.assertQueue(`${address}.billing`, { durable: true });
  const { groups, topics } = at({ exchanges: { [address]: { type: 'fanout' } } });

  await expect(topics.create(address)).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_UNFIT',
    message: expect.stringMatching(new RegExp(`the exchange ${address} with other properties.*'topic'`)),
  });
  await expect(groups.create('billing', [address])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_UNFIT',
    message: expect.stringContaining(`the queue ${address}.billing`),
  });
});

test('what the user may not create is an error that names the right; an existing exchange is none', async () => {
  const writer = server.url.replace('guest:guest', `${user}:${user}`);
  await server.control(
    'eval',
    `rabbit_auth_backend_internal:set_permissions(<<"${user}">>, <<"/">>, <<"^$">>, <<".*">>, <<".*">>, <<"test">>).`,
  );
  const address = await broker.exchange(fresh());
  const missing = fresh();
  const { groups, topics } = at({ url: writer, exchanges: { [address]: { type: 'topic' } } });

  await expect(topics.create(missing)).rejects.toMatchObject({
    code: 'OUTBOX_PRIVILEGE_MISSING',
    message: expect.stringMatching(new RegExp(`create the exchange ${missing}.*ACCESS_REFUSED`)),
  });
  expect(await topics.create(address)).toBe(false);
  await expect(groups.create('billing', [address])).rejects.toMatchObject({
    code: 'OUTBOX_PRIVILEGE_MISSING',
    message: expect.stringContaining(`create the queue ${address}.billing`),
  });
});

test('a group of an exchange that is missing, or whose queues are not declared here, is not created', async () => {
  const address = fresh();
  await expect(at().groups.create('billing', [address])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining(address),
  });
  await broker.channel.assertExchange(address, 'topic');

  await expect(at({ queues: { declare: false } }).groups.create('stock', [address])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining(`no queue ${address}.stock`),
  });
});

test('a queue that a restart deletes is a warning, and asking creates none', async () => {
  const address = fresh();
  await broker.channel.assertExchange(address, 'topic');
  await broker.channel.assertQueue(`${address}.classic`, { durable: false });
  const { groups } = at();
  await groups.create('quorum', [address]);
  const durability = async (group: string) => groups.durability?.(group, [address]);

  expect(await durability('classic')).toMatchObject([
    { check: `queue ${address}.classic`, state: 'warning', message: expect.stringContaining('not durable') },
  ]);
  expect(await durability('quorum')).toMatchObject([{ state: 'ok' }]);
  expect(await durability('nobody')).toEqual([]);
  expect(await groups.missing('nobody', [address])).toEqual([`the queue ${address}.nobody`]);
});

test('a server that is away is an error of the server, whatever was to be created', async () => {
  const { groups, topics } = at({ url: 'amqp://127.0.0.1:1' });
  const unavailable = { code: 'OUTBOX_SERVER_UNAVAILABLE', message: expect.stringContaining('127.0.0.1:1') };

  await expect(topics.create('orders')).rejects.toMatchObject(unavailable);
  await expect(topics.missing(['orders'])).rejects.toMatchObject(unavailable);
  await expect(groups.create('billing', ['orders'])).rejects.toMatchObject(unavailable);
  await expect(groups.missing('billing', ['orders'])).rejects.toMatchObject(unavailable);
});
