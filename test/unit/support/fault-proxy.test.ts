import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { until } from '../../support/fixtures/until.ts';

/** A server that answers every piece with the same in capitals, and remembers what it was told. */
async function shouter(): Promise<{ readonly address: string; readonly heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (piece) => {
      heard.push(piece.toString());
      socket.write(piece.toString().toUpperCase());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return { address: `127.0.0.1:${port}`, heard };
}

interface Caller {
  readonly socket: Socket;
  /** Everything that was answered. */
  text: string;
  /** The code of the error that ended the connection. */
  error: string | undefined;
  closed: boolean;
}

async function call(proxy: FaultProxy): Promise<Caller> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port, noDelay: true });
  const caller: Caller = { socket, text: '', error: undefined, closed: false };
  socket.on('data', (piece) => (caller.text += piece.toString()));
  socket.on('error', (error: Error & { code?: string }) => (caller.error = error.code));
  socket.on('close', () => (caller.closed = true));
  await until(() => caller.closed || !socket.connecting);
  return caller;
}

async function setUp(seed?: number) {
  const server = await shouter();
  const proxy = await startFaultProxy(server.address, seed);
  onTestFinished(() => proxy.close());
  return { server, proxy, caller: await call(proxy) };
}

async function ask(caller: Caller, words: string): Promise<void> {
  caller.socket.write(words);
  const answer = caller.text + words.toUpperCase();
  await until(() => caller.text === answer);
}

test('a proxy without a fault passes both directions and the end of a connection', async () => {
  const { proxy, server, caller } = await setUp();

  await ask(caller, 'good day');
  caller.socket.end();

  await until(() => proxy.connections() === 0);
  expect(server.heard).toEqual(['good day']);
  expect(caller.error).toBeUndefined();
});

test('a delay applies to every piece, in order, and ends when healed', async () => {
  const { proxy, caller } = await setUp();
  proxy.inject({ kind: 'delay', ms: 40, jitterMs: 40 });
  const askedAt = performance.now();

  for (let n = 0; n < 10; n += 1) caller.socket.write(`${n};`);
  await until(() => caller.text === '0;1;2;3;4;5;6;7;8;9;');

  expect(performance.now() - askedAt).toBeGreaterThan(75);
  expect(proxy.fired('delay')).toBeGreaterThanOrEqual(2);
  const fired = proxy.fired('delay');
  proxy.heal();
  await ask(caller, 'prompt');
  expect(proxy.fired('delay')).toBe(fired);
});

test('a blackhole swallows both directions and closes nothing; after healing, connections that lost bytes are reset', async () => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'blackhole' });
  caller.socket.write('lost');
  await until(() => proxy.fired('blackhole') === 1);
  const late = await call(proxy);
  late.socket.write('lost too');
  await until(() => proxy.fired('blackhole') === 2);

  expect(server.heard).toEqual([]);
  expect([caller.closed, late.closed]).toEqual([false, false]);
  proxy.heal();
  await until(() => caller.error === 'ECONNRESET' && late.error === 'ECONNRESET');
  await ask(await call(proxy), 'again');
});

test('a reset applies to open connections and new ones until healed', async () => {
  const { proxy, caller } = await setUp();
  await ask(caller, 'good day');
  proxy.inject({ kind: 'reset' });
  await until(() => caller.error === 'ECONNRESET');

  const next = await call(proxy);
  await until(() => next.closed);

  expect(proxy.fired('reset')).toBe(2);
  proxy.heal();
  await ask(await call(proxy), 'again');
});

test('dropped replies vanish while the server gets every request', async () => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'drop-replies' });
  caller.socket.write('one');
  await until(() => proxy.fired('drop-replies') === 1);

  expect(server.heard).toEqual(['one']);
  expect(caller).toMatchObject({ text: '', closed: false });
  proxy.heal();
  await until(() => caller.error === 'ECONNRESET');
});

test.each([
  ['requests', ['abcdefgh'], ''],
  ['replies', ['abcdefghij', 'klmnop'], 'ABCDEFGHIJKLMNOP'.slice(0, 12)],
] as const)('a cut of %s passes that many bytes and resets the rest', async (of, requests, text) => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'cut', of, afterBytes: of === 'requests' ? 5 : 12 });
  for (const request of requests) {
    const answered = caller.text.length;
    caller.socket.write(request);
    await until(() => caller.closed || caller.text.length > answered);
  }
  await until(() => caller.closed);

  expect(proxy.fired('cut')).toBe(1);
  expect(caller.text).toBe(text);
  await until(() => server.heard.join('') === (of === 'requests' ? 'abcde' : 'abcdefghijklmnop'));
});

test('the reply to a named request is lost, also when its text comes in two pieces, and other requests pass', async () => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'lose-reply', to: 'commit', times: 1 });
  await ask(caller, 'insert; com');
  caller.socket.write('mit;');
  await until(() => caller.error === 'ECONNRESET');

  expect(proxy.fired('lose-reply')).toBe(1);
  expect(server.heard.join('')).toBe('insert; commit;');
  expect(caller.text).toBe('INSERT; COM');
  await ask(await call(proxy), 'commit once more');
});

test('a named request is lost before it reaches the server, and others pass', async () => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'lose-request', to: 'settle', times: 1 });
  await ask(caller, 'claim');
  caller.socket.write('settle');
  await until(() => caller.error === 'ECONNRESET');

  expect(proxy.fired('lose-request')).toBe(1);
  await ask(await call(proxy), 'settle again');
  expect(server.heard).toEqual(['claim', 'settle again']);
});

test('a silence after a lost reply swallows everything until the reset', async () => {
  const { proxy, server, caller } = await setUp();
  proxy.inject({ kind: 'lose-reply', to: 'start', silentMs: 1_500 });
  caller.socket.write('start');
  await until(() => server.heard.length === 1);
  caller.socket.write('poll');
  await until(() => caller.closed);

  expect(server.heard.join('')).toBe('startpoll');
  expect(caller.text).toBe('');
  expect(proxy.fired('lose-reply')).toBe(1);
});

test('the same seed makes the same choices', async () => {
  const course = async (seed: number): Promise<string> => {
    const { proxy } = await setUp(seed);
    proxy.inject({ kind: 'lose-reply', to: 'x', chance: 0.5 });
    let taken = '';
    for (let n = 0; n < 12; n += 1) {
      const caller = await call(proxy);
      caller.socket.write('x');
      await until(() => caller.text === 'X' || caller.closed);
      taken += caller.closed ? '-' : '+';
      caller.socket.destroy();
    }
    return taken;
  };

  const [first, again, other] = [await course(7), await course(7), await course(8)];
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('while its server is down a proxy resets every connection', async () => {
  const proxy = await startFaultProxy('127.0.0.1:1');
  onTestFinished(() => proxy.close());

  const caller = await call(proxy);

  await until(() => caller.error === 'ECONNRESET');
});
