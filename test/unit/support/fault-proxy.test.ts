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
