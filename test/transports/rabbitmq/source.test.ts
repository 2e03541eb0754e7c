import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { until } from '../../support/fixtures/until.ts';
import { idsOf, stage } from './source-stage.ts';

test('a consumer declares and binds a quorum queue with a single active consumer', async () => {
  const { address, broker, join, offered, send } = await stage();
  await join();
  const same = { 'x-queue-type': 'quorum', 'x-single-active-consumer': true };

  await broker.channel.assertQueue(`${address}.stock`, { arguments: same });
  send('one');

  await expect.poll(() => idsOf(offered)).toEqual(['one']);
});

test('an existing queue with other arguments is reported with the next step, and not changed', async () => {
  const { address, broker, join } = await stage();
  await broker.channel.assertQueue(`${address}.stock`);

  await expect(join({ joinWithinMs: 5_000 })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/exists with other arguments: .*inequivalent arg 'x-.*Delete the queue/),
  });
});

test('without its exchange a consumer reports it, waits, and begins when the exchange exists', async () => {
  const { address, broker, join, offered, send, troubles } = await stage();
  await broker.channel.deleteExchange(address);

  await expect(join({ joinWithinMs: 5_000 })).rejects.toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });
  const joining = join();
  await expect.poll(() => troubles.length).toBeGreaterThan(2);
  await broker.channel.assertExchange(address, 'fanout');
  await joining;
  send('one');

  await expect.poll(() => idsOf(offered)).toEqual(['one']);
});

test('with declare false, a consumer declares no queue, and reports a missing one', async () => {
  const { join } = await stage({ queues: { declare: false } });

  await expect(join({ joinWithinMs: 5_000 })).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining('no queue'),
  });
});

test('messages being handled when the connection is lost are offered again, and acknowledged ones are not', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { join, offered, proxy, send, troubles } = await stage();
  const lost: boolean[] = [];
  await join({
    batchSize: 1,
    async handle(batch) {
      offered.push(...batch.messages);
      if (idsOf(offered).join() === 'one,two') {
        await until(() => batch.signal.aborted);
        lost.push(batch.lost.aborted);
      }
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  send('one', 'two', 'three');
  await expect.poll(() => idsOf(offered)).toEqual(['one', 'two']);

  proxy.inject({ kind: 'reset' });
  await expect.poll(() => proxy.fired('reset')).toBeGreaterThan(0);
  proxy.heal();

  await expect.poll(() => idsOf(offered)).toEqual(['one', 'two', 'two', 'three']);
  expect(troubles.length).toBeGreaterThan(0);
  expect(lost).toEqual([true]);
  // The server counts it; the first delivery has no count.
  expect(offered.map((message) => message.header('x-delivery-count'))).toEqual([
    undefined,
    undefined,
    '1',
    '1',
  ]);
});

test('a consumer notices a silent network by its heartbeat, and afterwards receives the waiting messages', async () => {
  const { join, offered, proxy, send, troubles } = await stage({ heartbeat: '1s' });
  await join();
  send('one');
  await expect.poll(() => idsOf(offered)).toEqual(['one']);
  proxy.inject({ kind: 'blackhole' });
  send('two', 'three');

  await expect.poll(() => troubles.length).toBeGreaterThan(0);
  expect(proxy.fired('blackhole')).toBeGreaterThan(0);
  expect(idsOf(offered)).toEqual(['one']);
  proxy.heal();

  await expect.poll(() => [...new Set(idsOf(offered))]).toEqual(['one', 'two', 'three']);
});

test('a message that is left open is delivered again, and those acknowledged before it are not', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { join, offered, send } = await stage();
  await join({
    async handle(batch) {
      for (const message of batch.messages) {
        const known = idsOf(offered).includes(message.offset);
        offered.push(message);
        if (message.offset !== 'two' || known) batch.acknowledge(message);
      }
    },
  });
  send('one', 'two', 'three');

  await expect.poll(() => idsOf(offered).filter((id) => id === 'two')).toHaveLength(2);
  await expect.poll(() => idsOf(offered).at(-1)).toBe('three');
  expect(idsOf(offered).filter((id) => id === 'one')).toHaveLength(1);
});

test('a deleted queue is declared again while the others continue', async () => {
  const { address, broker, join, offered, send, troubles } = await stage();
  const other = `${address}-other`;
  await broker.channel.assertExchange(other, 'fanout');
  await join({ addresses: [address, other] });

  await broker.channel.deleteQueue(`${address}.stock`);
  broker.channel.publish(other, '', Buffer.from('x'), { messageId: 'other' });

  await expect.poll(() => idsOf(offered)).toEqual(['other']);
  await expect.poll(() => String(troubles[0])).toContain(`The queue ${address}.stock was deleted`);
  const sent = (): readonly string[] => {
    send('again');
    return idsOf(offered);
  };
  await expect.poll(sent).toContain('again');
});

test('after a lost connection, a missing address stops no other, and is consumed when it is back', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { address, broker, join, offered, proxy, send, troubles } = await stage();
  const other = `${address}-other`;
  await broker.channel.assertExchange(other, 'fanout');
  await join({ addresses: [other, address] });
  await broker.channel.deleteExchange(other);

  proxy.inject({ kind: 'reset' });
  await expect.poll(() => proxy.fired('reset')).toBeGreaterThan(0);
  proxy.heal();
  send('one');

  await expect.poll(() => idsOf(offered)).toEqual(['one']);
  await expect.poll(() => String(troubles.at(-1))).toContain(`no exchange '${other}'`);
  await broker.channel.assertExchange(other, 'fanout');
  const sent = (): readonly string[] => {
    broker.channel.publish(other, '', Buffer.from('x'), { messageId: 'other' });
    return idsOf(offered);
  };
  await expect.poll(sent).toContain('other');
  // Its queue was not left and consumed again, which would be a delivery each time.
  send('two');
  await expect.poll(() => idsOf(offered).filter((id) => id !== 'other')).toEqual(['one', 'two']);
  expect(offered.every((message) => message.header('x-delivery-count') === undefined)).toBe(true);
});

test('a message delivered too often goes to the dead letter exchange, not back to the queue', async () => {
  const dead = `dead-${randomUUID().slice(0, 8)}`;
  const { broker, join, offered, proxy, send } = await stage({
    queues: { deliveryLimit: 2, deadLetterExchange: dead },
  });
  await broker.exchange(dead);
  await join({
    async handle({ messages }) {
      offered.push(...messages);
      proxy.inject({ kind: 'reset' });
      await expect.poll(() => proxy.connections()).toBe(0);
      proxy.heal();
    },
  });
  send('poison');

  await expect.poll(() => broker.channel.checkQueue(dead).then(({ messageCount }) => messageCount)).toBe(1);

  expect(idsOf(offered)).toEqual(['poison', 'poison', 'poison']);
});

test('messages of other programs have their headers as strings, and one without an id gets its own offset', async () => {
  const { address, broker, join, offered } = await stage();
  await join();

  const headers = { n: 7, yes: true, bytes: Buffer.from('b'), list: [1, 'a'] };
  broker.channel.publish(address, '', Buffer.from('x'), { headers });
  broker.channel.publish(address, '', Buffer.from('x'), { headers });

  await expect.poll(() => offered.length).toBe(2);
  expect(offered[0]).toMatchObject({
    key: null,
    headers: { n: '7', yes: 'true', bytes: 'b', list: '[1,"a"]' },
  });
  expect(new Set(idsOf(offered)).size).toBe(2);
});
