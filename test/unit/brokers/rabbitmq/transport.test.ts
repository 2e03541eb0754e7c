import { expect, test } from 'vitest';
import { pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { overWire, untilOnWire } from '../../../support/rabbitmq/wire-time.ts';
import { acknowledged, maybeStored, stage, unsent } from './transport-stage.ts';

const idleMs = 30_000;

test('batches share one connection and a channel for each exchange, also concurrent ones', async () => {
  const { send, server } = await stage();

  await overWire(Promise.all([send('orders', 'a'), send('orders', 'b'), send('bills', 'c')]));
  await overWire(send('orders', 'd'));

  expect(server.connections).toEqual({ ever: 1, open: 1 });
  expect(server.times('ConfirmSelect')).toBe(2);
  expect(new Set(server.published.map(({ channel, exchange }) => `${exchange} ${channel}`)).size).toBe(2);
});

test('a channel closed by the server is replaced once, also for concurrent batches', async () => {
  const { send, server } = await stage();
  server.missing.add('orders');
  await overWire(send('orders', 'a'));
  server.missing.clear();

  const sent = await overWire(Promise.all([send('orders', 'b'), send('orders', 'c')]));
  await overWire(send('orders', 'd'));

  expect(sent).toEqual([{ outcomes: [acknowledged] }, { outcomes: [acknowledged] }]);
  expect(server.times('ConfirmSelect')).toBe(2);
});

test('a channel that could not be opened is requested again by the next batch', async () => {
  const { send, server } = await stage();
  server.refuse = ({ name }) =>
    name === 'ConfirmSelect' ? { code: 540, text: 'NOT_IMPLEMENTED - not now' } : undefined;
  const refused = await overWire(send('orders', 'a'));
  server.refuse = () => undefined;

  expect(refused).toMatchObject({
    outcomes: [unsent],
    hold: { reason: expect.stringContaining('NOT_IMPLEMENTED') },
  });
  expect((await overWire(send('orders', 'a'))).outcomes).toEqual([acknowledged]);
});

test('a connection is closed 30 s after its last batch, and the next batch opens another', async () => {
  const { send, server } = await stage();
  await overWire(send('orders', 'a'));
  await pass(idleMs - 1);
  await overWire(send('orders', 'b'));
  await pass(idleMs - 1);
  await overWire(send('bills', 'c'));
  const before = { ...server.connections, closed: server.times('ConnectionClose') };
  await pass(idleMs);
  await untilOnWire(() => server.connections.open === 0);
  const { outcomes } = await overWire(send('orders', 'd'));

  expect(before).toEqual({ ever: 1, open: 1, closed: 0 });
  expect(server.times('ConnectionClose')).toBe(1);
  expect(outcomes).toEqual([acknowledged]);
  expect(server.connections).toEqual({ ever: 2, open: 1 });
});

test('a connection with a batch in progress is not idle, however long that takes', async () => {
  const { send, server } = await stage({ requestTimeout: 120_000 });
  await overWire(send('orders', 'a'));
  server.confirm = ({ body }) => (body === 'slow' ? 'none' : 'ack');
  const slow = soFar(send('orders', 'slow'));
  await untilOnWire(() => server.published.length === 2);
  await overWire(send('bills', 'b'));

  await pass(2 * idleMs);
  await overWire(send('bills', 'c'));

  expect(slow.state).toBe('open');
  expect(server.connections).toEqual({ ever: 1, open: 1 });
});

test('a blocked connection stays open although idle, to receive the end of the block', async () => {
  const { send, server, transport } = await stage();
  server.confirm = () => 'none';
  const sent = send('orders', 'a');
  await untilOnWire(() => server.published.length === 1);
  server.block('low on memory');
  const { hold } = await overWire(sent);
  await pass(2 * idleMs);
  await expect(overWire(transport.probe('orders'))).rejects.toThrow(
    'The server blocks its publishers: low on memory.',
  );
  server.block();
  await untilOnWire(async () => {
    await pass(1_000);
    return server.connections.open === 0;
  });

  expect(hold).toEqual({
    scope: 'transport',
    reason: 'The server blocks its publishers: low on memory.',
  });
  expect(server.connections.ever).toBe(1);
});

test('the size limit of a server is learned once for all exchanges, and again with each connection', async () => {
  const { send, server } = await stage();
  server.confirm = ({ body }) =>
    body.length > 4
      ? { code: 406, text: 'PRECONDITION_FAILED - message size 5 is larger than configured max size 4' }
      : 'ack';
  await overWire(send('orders', 'large'));
  const others = await overWire(Promise.all([send('orders', 'large'), send('bills', 'large', 'fits')]));
  const sentTo = server.published.length;
  server.cut();
  server.confirm = () => 'ack';
  let anew = await overWire(send('orders', 'large'));
  await untilOnWire(async () => {
    anew = await overWire(send('orders', 'large'));
    return server.connections.ever === 2;
  });

  const tooLarge = {
    kind: 'permanent',
    error: 'The message has 5 bytes; the server takes 4 (max_message_size).',
  };
  expect(others).toEqual([{ outcomes: [tooLarge] }, { outcomes: [tooLarge, acknowledged] }]);
  expect(sentTo).toBe(2);
  expect(anew.outcomes).toEqual([acknowledged]);
});

test('a close waits for the batch in progress, and a batch after it opens another connection', async () => {
  const { send, server, transport } = await stage();
  server.confirm = () => 'none';
  const slow = soFar(send('orders', 'slow'));
  await untilOnWire(() => server.published.length === 1);
  const closing = soFar(transport.close());
  server.confirm = () => 'ack';
  const next = await overWire(send('orders', 'next'));
  const during = [closing.state, server.times('ConnectionClose')];
  const connections = server.connections.ever;
  await pass(1_000);
  await untilOnWire(() => closing.state !== 'open');

  expect(during).toEqual(['open', 0]);
  expect([next.outcomes, connections]).toEqual([[acknowledged], 2]);
  expect(slow).toMatchObject({ state: 'resolved', value: { outcomes: [maybeStored] } });
  expect(closing.state).toBe('resolved');
});

test('a closed transport leaves no connection and no timer behind', async () => {
  const { send, server, transport } = await stage();
  await overWire(send('orders', 'a'));

  await overWire(transport.close());
  await untilOnWire(() => server.connections.open === 0);
  await pass(2 * idleMs);

  expect(server.times('ConnectionClose')).toBe(1);
  await overWire(transport.close());
  expect(server.connections.ever).toBe(1);
});

test('no more messages than allowed are without a confirmation', async () => {
  const { send, server } = await stage({ concurrency: 2 });
  await overWire(send('orders', 'first'));
  server.confirm = () => 'none';

  void send('orders', 'a', 'b', 'c');
  await untilOnWire(() => server.published.length === 3);
  await pass(10);

  expect(server.published.map(({ body }) => body)).toEqual(['first', 'a', 'b']);
});

test('an exchange to which this user may not write is not tried again for ten seconds, whatever a probe finds', async () => {
  const { send, server, transport } = await stage();
  server.confirm = () => ({ code: 403, text: 'ACCESS_REFUSED - write access to exchange' });
  const refused = await overWire(send('orders', 'a'));
  server.confirm = () => 'ack';

  await pass(9_900);
  const early = overWire(transport.probe('orders'));
  await expect(early).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('ACCESS_REFUSED'),
  });
  await overWire(transport.probe('bills'));
  await pass(100);
  await overWire(transport.probe('orders'));

  expect(refused).toMatchObject({ outcomes: [unsent], hold: { scope: 'topic' } });
});

test('an exchange that left a message in doubt is paused, longer each time, until one is acknowledged', async () => {
  const { send, server, transport } = await stage();
  const doubtful = async () => {
    server.confirm = () => 'none';
    const sent = send('orders', 'a');
    const [before] = [server.published.length];
    await untilOnWire(() => server.published.length > before);
    await pass(1_000);
    const result = await overWire(sent);
    server.confirm = () => 'ack';
    return result;
  };
  const first = await doubtful();
  const [during, bills] = await overWire(Promise.all([send('orders', 'b'), send('bills', 'c')]));
  await expect(overWire(transport.probe('orders'))).rejects.toThrow('orders left messages in doubt 1 times');
  await pass(500);
  await doubtful();
  const again = await overWire(send('orders', 'b'));
  await pass(1_000);
  const after = await overWire(send('orders', 'b'));
  await doubtful();
  const anew = await overWire(send('orders', 'b'));

  expect(first).toMatchObject({ outcomes: [maybeStored], hold: { scope: 'topic' } });
  expect(during).toMatchObject({
    outcomes: [unsent],
    hold: {
      scope: 'topic',
      reason: expect.stringContaining('in doubt 1 times in a row; the next is sent in 1 s'),
    },
  });
  expect(bills.outcomes).toEqual([acknowledged]);
  expect(again.hold?.reason).toContain('in doubt 2 times in a row');
  expect(after.outcomes).toEqual([acknowledged]);
  expect(anew.hold?.reason).toContain('in doubt 1 times in a row');
});

test('a missing exchange holds its own messages, and its probe names it until it exists', async () => {
  const { send, server, transport } = await stage();
  server.missing.add('orders');

  const [orders, bills] = await overWire(Promise.all([send('orders', 'a'), send('bills', 'b')]));

  expect(orders).toMatchObject({
    outcomes: [unsent],
    hold: { scope: 'topic', reason: expect.stringContaining("no exchange 'orders'") },
  });
  expect(bills.outcomes).toEqual([acknowledged]);
  await expect(overWire(transport.probe('orders'))).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining("no exchange 'orders'"),
    details: { address: 'orders' },
  });
  server.missing.clear();
  await overWire(transport.probe('orders'));
  expect((await overWire(send('orders', 'a'))).outcomes).toEqual([acknowledged]);
  expect(server.connections.ever).toBe(1);
  // Of a probe no channel is left behind.
  expect(server.times('ChannelClose')).toBe(1);
});
