import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LocalRabbitmq, startRabbitmq } from '../../../src/local/rabbitmq.ts';
import { type RabbitmqOptions, rabbitmq } from '../../../src/transports.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { batchOf, brokerAt } from './broker.ts';

const maxBytes = 10_000;
const user = 'writer';
let server: Required<LocalRabbitmq>;

/** A node of its own, which these tests stop, freeze and fill, with a user who may write to nothing that is forbidden. */
beforeAll(async () => {
  const { RABBITMQ_URL: _given, ...env } = process.env;
  const started = await startRabbitmq({
    env: await inMemory(env),
    settings: [`max_message_size = ${maxBytes}`],
  });
  const { control, node } = started;
  if (control === undefined || node === undefined) throw new Error('It was not started here.');
  server = { ...started, control, node };
  await control(
    'eval',
    `rabbit_auth_backend_internal:add_user(<<"${user}">>, <<"${user}">>, <<"test">>),
     rabbit_auth_backend_internal:set_permissions(<<"${user}">>, <<"/">>, <<".*">>, <<"^orders">>, <<".*">>, <<"test">>).`,
  );
});

afterAll(() => server.stop());
afterEach(() => freeze('SIGCONT'));

function freeze(signal: 'SIGCONT' | 'SIGSTOP'): void {
  if (server.node.pid !== undefined) process.kill(server.node.pid, signal);
}

async function stage(options: Partial<RabbitmqOptions> = {}) {
  const transport = rabbitmq({ url: server.url, requestTimeout: '500ms', ...options });
  onTestFinished(() => transport.close());
  const broker = await brokerAt(server.url);
  const address = await broker.exchange();
  await broker.close();
  return { address, transport, publish: batchOf(transport) };
}

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

test('a server that blocks its publishers holds all until it no longer does', async () => {
  const { address, publish, transport } = await stage();
  await publish(address, {});
  await server.control('set_vm_memory_high_watermark', '0.0001');

  // The first message after the alarm makes the server tell.
  const results = [await publish(address, ...many)];
  while (results.at(-1)?.hold === undefined) results.push(await publish(address, ...many));
  const { hold, outcomes } = await publish(address, ...many);

  expect(results.at(-1)?.hold).toMatchObject({
    scope: 'transport',
    reason: expect.stringContaining('low on memory'),
  });
  expect(hold?.scope).toBe('transport');
  expect(outcomes).toEqual(many.map(() => ({ kind: 'deferred', onWire: false })));
  await expect(transport.probe(address)).rejects.toThrow('The server blocks its publishers: low on memory.');

  await server.control('set_vm_memory_high_watermark', '0.4');
  await expect
    .poll(() =>
      transport.probe(address).then(
        () => 'open',
        () => 'held',
      ),
    )
    .toBe('open');
  expect((await publish(address, ...many)).hold).toBeUndefined();
});

test('a frozen server holds all, what was on its way may be stored, and it goes on afterwards', async () => {
  const { address, publish, transport } = await stage();
  await publish(address, {});
  freeze('SIGSTOP');

  const { hold, outcomes } = await publish(address, ...many);

  expect(hold).toEqual({ scope: 'transport', reason: 'The server gave no answer within 500 ms.' });
  expect(outcomes.every((outcome) => outcome.kind === 'deferred' && outcome.onWire)).toBe(true);
  await expect(transport.probe(address)).rejects.toThrow('no answer within 500 ms');
  freeze('SIGCONT');
  await expect
    .poll(() =>
      transport.probe(address).then(
        () => 'open',
        () => 'held',
      ),
    )
    .toBe('open');
  expect((await publish(address, ...many)).hold).toBeUndefined();
});

test('a connection that vanishes without a word holds all, and the next one serves', async () => {
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

test('a user who may not write to an exchange holds its topic, and is tried again after a while', async () => {
  const { address, publish, transport } = await stage({
    url: server.url.replace('guest:guest', `${user}:${user}`),
  });
  const broker = await brokerAt(server.url);
  const forbidden = await broker.exchange(`forbidden-${randomUUID().slice(0, 8)}`);
  await broker.close();

  const { hold, outcomes } = await publish(forbidden, { key: 'a' }, { key: 'b' });

  expect(hold).toMatchObject({
    scope: 'topic',
    reason: expect.stringContaining('ACCESS_REFUSED - access to exchange'),
  });
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: false },
  ]);
  await expect(transport.probe(forbidden)).rejects.toThrow('ACCESS_REFUSED');
  expect((await publish(address, {})).hold).toBeUndefined();
});

test('a message that is larger than the server takes fails for ever, and only the first one closes a channel', async () => {
  const { address, publish } = await stage();
  const large = { key: 'large', payload: 'x'.repeat(maxBytes + 1) };
  await publish(address, {});

  const first = await publish(address, { key: 'before' }, large, { key: 'large' }, { key: 'behind' });
  const second = await publish(address, { key: 'before' }, large, { key: 'large' }, { key: 'behind' });

  expect(first.outcomes[1]).toMatchObject({
    kind: 'permanent',
    error: expect.stringContaining('max size 10000'),
  });
  expect(first.outcomes[2]).toEqual({ kind: 'held' });
  expect(first.outcomes[3]).toEqual({ kind: 'deferred', onWire: false });
  expect(second.outcomes.map(({ kind }) => kind)).toEqual([
    'acknowledged',
    'permanent',
    'held',
    'acknowledged',
  ]);
});

test('a wrong password holds all, and no text tells it', async () => {
  const { address, publish, transport } = await stage({
    url: server.url.replace('guest:guest', 'guest:hunter2'),
  });

  const { hold } = await publish(address, {});

  expect(hold).toMatchObject({ scope: 'transport', reason: expect.stringContaining('ACCESS_REFUSED') });
  expect(`${hold?.reason} ${transport.endpoint}`).not.toContain('hunter2');
});

test('a server that is killed and started again has what it had confirmed, and goes on', async () => {
  const { address, publish, transport } = await stage();
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
  await expect.poll(() => stored(address), { timeout: 20_000 }).toBeGreaterThanOrEqual(many.length);
  await transport.probe(address);
  expect((await publish(address, ...many)).hold).toBeUndefined();
});
