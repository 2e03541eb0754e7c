import { expect, test } from 'vitest';
import { pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { deliver, handler, overWire, stage, times, untilOnWire } from './session-stage.ts';

test.each([
  [{}, { 'x-queue-type': 'quorum', 'x-single-active-consumer': true }],
  [{ order: false }, { 'x-queue-type': 'quorum' }],
  [
    { order: false, deliveryLimit: 7, deadLetterExchange: 'dead' },
    {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 7,
      'x-dead-letter-exchange': 'dead',
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    },
  ],
])('queues %j are declared with %j', async (queues, wanted) => {
  const { server, subscribe } = await stage({ queues });

  await overWire(subscribe());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields['arguments']).toEqual(wanted);
});

test('a queue declared elsewhere is only looked up and never bound', async () => {
  const { server, subscribe } = await stage({ queues: { declare: false, name: () => 'own' } });

  const subscribed = await overWire(subscribe());
  await pass(times.bindEveryMs);
  // An answer is behind all that was asked before.
  await overWire(subscribed.lag());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields).toMatchObject({
    queue: 'own',
    passive: true,
  });
  expect(server.times('QueueBind')).toBe(0);
});

test('a queue that exists with other arguments is reported with the next step', async () => {
  const { server, subscribe, told } = await stage();
  server.refuse = ({ name }) =>
    name === 'QueueDeclare'
      ? { code: 406, text: "PRECONDITION_FAILED - inequivalent arg 'x-queue-type'" }
      : undefined;
  void soFar(subscribe());
  await untilOnWire(() => told.disconnected.length === 1);

  expect(String(told.disconnected[0]?.[0])).toMatch(
    /^Error: The queue orders.stock exists with other arguments: .*inequivalent arg.* Delete the queue/,
  );
  expect(server.times('QueueDeclare')).toBe(1);
});

test('from RabbitMQ 4 on a queue is declared without a limit of deliveries', async () => {
  const { server, subscribe, told } = await stage();
  server.version = '4.0.1';

  await overWire(subscribe());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields['arguments']).toMatchObject({
    'x-delivery-limit': -1,
  });
  expect(told.noticed).toEqual([]);
});

test('a queue of RabbitMQ 3 is consumed after an upgrade to 4, and reported', async () => {
  const { server, subscribe, told } = await stage();
  const { batches, handle } = handler();
  server.version = '4.0.1';
  server.refuse = ({ fields, name }) =>
    name === 'QueueDeclare' && JSON.stringify(fields).includes('x-delivery-limit')
      ? { code: 406, text: "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit'" }
      : undefined;

  await overWire(subscribe(handle));
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => batches.length === 1);

  expect(told.noticed).toMatchObject([
    { type: 'deliveries-limited', address: 'orders', error: { code: 'OUTBOX_DELIVERIES_LIMITED' } },
  ]);
  expect(told.disconnected).toEqual([]);
});
