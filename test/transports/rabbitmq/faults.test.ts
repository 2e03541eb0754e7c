import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RabbitmqOptions, rabbitmq } from '../../../src/transports.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { until } from '../../support/fixtures/until.ts';
import { brokerAt } from './broker.ts';
import { maxBytes, type OwnNode, type OwnStage, stageAt, startOwnNode } from './own-node.ts';

let server: OwnNode;

/** A node of its own, which these tests stop, freeze and fill. */
beforeAll(async () => {
  server = await startOwnNode();
});

afterAll(() => server.stop());
afterEach(() => freeze('SIGCONT'));

function freeze(signal: 'SIGCONT' | 'SIGSTOP'): void {
  if (server.node.pid !== undefined) process.kill(server.node.pid, signal);
}

/** A consumer of an exchange that acknowledges everything, with the bodies that it got and what it told. */
async function consumed(address: string) {
  const bodies: string[] = [];
  const troubles: unknown[] = [];
  const source = rabbitmq({ url: server.url, heartbeat: '1s' }).source();
  const subscribed = await source.subscribe({
    addresses: [address],
    group: 'stock',
    concurrency: 1,
    batchSize: 10,
    fromBeginning: true,
    joinWithinMs: 30_000,
    assigned: () => undefined,
    disconnected: (error) => void troubles.push(error),
    async handle(batch) {
      for (const message of batch.messages) {
        bodies.push(Buffer.from(message.body ?? []).toString());
        batch.acknowledge(message);
      }
    },
  });
  onTestFinished(() => subscribed.stop());
  return { bodies, troubles };
}

const stage = (options: Partial<RabbitmqOptions> = {}): Promise<OwnStage> => stageAt(server, options);

/** How many messages its queue holds. */
async function stored(address: string): Promise<number> {
  const broker = await brokerAt(server.url);
  try {
    return (await broker.channel.checkQueue(address)).messageCount;
  } finally {
    await broker.close();
  }
}

const many = Array.from({ length: 200 }, (_, n) => ({ key: `key-${n}` }));

test.each([
  ['memory', 'set_vm_memory_high_watermark', '0.0001', '0.4'],
  ['disk', 'set_disk_free_limit', '1000000GB', '50MB'],
])(
  'a server that blocks its publishers holds the transport until it unblocks them: low on %s',
  { tags: ['rabbitmq-unstored-is-unpublished'] },
  async (of, set, low, usual) => {
    const { address, publish, transport } = await stage();
    await publish(address, {});
    await server.control(set, low);

    // The first message after the alarm makes the server report it.
    const results = [await publish(address, ...many)];
    while (results.at(-1)?.hold === undefined) results.push(await publish(address, ...many));
    const { hold, outcomes } = await publish(address, ...many);

    const inFlight = results.at(-1);
    expect(inFlight?.hold).toMatchObject({
      scope: 'transport',
      reason: expect.stringContaining(`low on ${of}`),
    });
    // They were written to the connection, from which the server reads on when it has room again.
    const unconfirmed = inFlight?.outcomes.filter(({ kind }) => kind !== 'acknowledged');
    expect(unconfirmed).not.toEqual([]);
    expect(unconfirmed).toEqual(unconfirmed?.map(() => ({ kind: 'deferred', onWire: true })));
    expect(hold?.scope).toBe('transport');
    expect(outcomes).toEqual(many.map(() => ({ kind: 'deferred', onWire: false })));
    await expect(transport.probe(address)).rejects.toThrow(`The server blocks its publishers: low on ${of}.`);

    await server.control(set, usual);
    await expect.poll(() => stored(address)).toBe(1 + results.length * many.length);
    await expect
      .poll(() =>
        transport.probe(address).then(
          () => 'open',
          () => 'blocked',
        ),
      )
      .toBe('open');
    expect((await publish(address, ...many)).hold).toBeUndefined();
  },
);

test('a frozen server holds the transport, messages in flight may be stored, and delivery continues afterwards', async () => {
  const { address, publish, transport } = await stage({ requestTimeout: '2s' });
  await until(async () => (await publish(address, {})).hold === undefined);
  freeze('SIGSTOP');

  const { hold, outcomes } = await publish(address, ...many);

  expect(hold).toEqual({ scope: 'transport', reason: 'The server gave no answer within 2000 ms.' });
  expect(outcomes.every((outcome) => outcome.kind === 'deferred' && outcome.onWire)).toBe(true);
  await expect(transport.probe(address)).rejects.toThrow('no answer within 2000 ms');
  freeze('SIGCONT');
  await expect
    .poll(() =>
      transport.probe(address).then(
        () => 'open',
        () => 'blocked',
      ),
    )
    .toBe('open');
  expect((await publish(address, ...many)).hold).toBeUndefined();
});

test('a consumer notices a frozen server by its heartbeat, and receives new messages afterwards', async () => {
  const { address, publish, transport } = await stage();
  const { bodies, troubles } = await consumed(address);
  await publish(address, { payload: 'before' });
  await expect.poll(() => bodies).toEqual(['before']);
  freeze('SIGSTOP');
  const awakeMs = awake();

  await expect.poll(() => troubles.length).toBeGreaterThan(0);
  expect(awakeMs()).toBeLessThan(5_000);

  freeze('SIGCONT');
  await until(() => transport.probe(address).then(() => true));
  for (const payload of ['one', 'two'])
    expect((await publish(address, { key: 'k', payload })).hold).toBeUndefined();
  await expect.poll(() => [...new Set(bodies)]).toEqual(['before', 'one', 'two']);
});

test('a connection that is lost silently holds the transport, and the next one is used', async () => {
  const proxy = await startFaultProxy(new URL(server.url).host);
  onTestFinished(() => proxy.close());
  const { address, publish, transport } = await stage({ url: `amqp://${proxy.address}` });
  await publish(address, {});
  proxy.inject({ kind: 'strand' });

  const { hold } = await publish(address, {});

  expect(hold?.scope).toBe('transport');
  expect(proxy.fired('strand')).toBeGreaterThan(0);
  await transport.probe(address);
  expect((await publish(address, {})).outcomes).toMatchObject([{ kind: 'acknowledged' }]);
});

test('a message larger than the limit of the server is failed, and only the first one closes a channel', async () => {
  const { address, publish } = await stage();
  const large = { key: 'large', payload: 'x'.repeat(maxBytes + 1) };
  await publish(address, {});

  const first = await publish(address, { key: 'before' }, large, { key: 'large' }, { key: 'behind' });
  const second = await publish(address, { key: 'before' }, large, { key: 'large' }, { key: 'behind' });

  expect(first.outcomes[1]).toMatchObject({
    kind: 'permanent',
    error: expect.stringContaining('max size 10000'),
  });
  expect(first.outcomes[2]).toEqual({ kind: 'blocked' });
  expect(first.outcomes[3]).toEqual({ kind: 'deferred', onWire: false });
  expect(second.outcomes.map(({ kind }) => kind)).toEqual([
    'acknowledged',
    'permanent',
    'blocked',
    'acknowledged',
  ]);
});

test('a wrong password holds the transport, and no text contains it', async () => {
  const { address, publish, transport } = await stage({
    url: server.url.replace('guest:guest', 'guest:hunter2'),
  });

  const { hold } = await publish(address, {});

  expect(hold).toMatchObject({ scope: 'transport', reason: expect.stringContaining('ACCESS_REFUSED') });
  expect(`${hold?.reason} ${transport.endpoint}`).not.toContain('hunter2');
});

test('a server that was killed and restarted has all confirmed messages, and delivery continues', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const { address, publish, transport } = await stage();
  const { bodies, troubles } = await consumed(address);
  // RabbitMQ writes that a queue exists some moments after it has made it, and without that its messages are gone.
  await server.control('eval', 'mnesia:sync_log(), [dets:sync(Table) || Table <- dets:all()].');
  const { outcomes } = await publish(address, ...many);
  expect(outcomes.every(({ kind }) => kind === 'acknowledged')).toBe(true);
  const open = publish(address, ...many);
  await server.node.stop('SIGKILL');
  await open;

  expect((await publish(address, ...many)).hold).toMatchObject({
    scope: 'transport',
    reason: expect.stringContaining('ECONNREFUSED'),
  });
  await expect(transport.probe(address)).rejects.toThrow('ECONNREFUSED');
  await server.node.start();
  await expect.poll(() => stored(address)).toBeGreaterThanOrEqual(many.length);
  await transport.probe(address);
  expect((await publish(address, { payload: 'after' })).hold).toBeUndefined();
  // The consumer has come back by itself.
  expect(troubles).not.toEqual([]);
  await expect.poll(() => bodies.at(-1)).toBe('after');
});
