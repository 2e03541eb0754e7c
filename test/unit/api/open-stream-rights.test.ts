import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { apiHandler } from '../../../src/api/handler.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

const olga: Caller = { name: 'olga', role: 'operator', payloads: true, topics: ['orders'], ambient: false };

/** Opens the stream of the status, whose caller is what `proofs` tell one after the other, and then the last. */
async function open(...proofs: readonly (() => Caller | undefined)[]) {
  let asked = 0;
  // What the stream tells is not looked at, so the database may be away.
  const api = apiHandler(
    { database: { url: 'postgresql://nobody@127.0.0.1:1/none' } },
    {
      authentication: {
        async caller() {
          const proof = proofs[Math.min(asked, proofs.length - 1)];
          asked += 1;
          return proof?.();
        },
      },
      logger: false,
    },
  );
  onTestFinished(() => api.close());
  const response = await api(new Request('https://outbox.test/events'));
  const body: ReadableStream<Uint8Array> | null = response.body;
  if (response.status !== 200 || body === null) throw new Error('The stream was not opened.');
  let ended = false;
  void (async () => {
    for await (const _ of body);
    ended = true;
  })();
  return { asked: () => asked, ended: () => ended };
}

test.each<{ readonly what: string; readonly proof: () => Caller | undefined }>([
  { what: 'proves nobody any more', proof: () => undefined },
  { what: 'has another role', proof: () => ({ ...olga, role: 'viewer' }) },
  { what: 'may not read payloads any more', proof: () => ({ ...olga, payloads: false }) },
  { what: 'sees other topics', proof: () => ({ ...olga, topics: ['refunds'] }) },
  { what: 'is somebody else', proof: () => ({ ...olga, name: 'vera' }) },
])(
  'a stream whose request $what ends at the next heartbeat',
  { tags: ['callers-prove-themselves'] },
  async ({ proof }) => {
    const stream = await open(() => olga, proof);
    expect(stream.ended()).toBe(false);
    vi.advanceTimersByTime(15_000);
    await expect.poll(stream.ended).toBe(true);
  },
);

test('a stream goes on while its caller is the same, or cannot be proved', async () => {
  const away = (): Caller => {
    throw new Error('the identity provider is away');
  };
  const equal = (): Caller => ({ ...olga, topics: ['orders'] });
  const stream = await open(
    () => olga,
    equal,
    away,
    equal,
    () => undefined,
  );
  for (let times = 2; times <= 4; times += 1) {
    vi.advanceTimersByTime(15_000);
    await expect.poll(stream.asked).toBe(times);
  }
  expect(stream.ended()).toBe(false);
  vi.advanceTimersByTime(15_000);
  await expect.poll(stream.ended).toBe(true);
});

test('a proof that takes longer than a heartbeat is not asked for twice', async () => {
  let asked = 0;
  let prove: (caller: Caller) => void = () => undefined;
  const slow = new Promise<Caller>((resolve) => (prove = resolve));
  const api = apiHandler(
    { database: { url: 'postgresql://nobody@127.0.0.1:1/none' } },
    { authentication: { caller: async () => ((asked += 1) === 2 ? slow : olga) }, logger: false },
  );
  onTestFinished(() => api.close());
  await api(new Request('https://outbox.test/events'));
  vi.advanceTimersByTime(60_000);
  expect(asked).toBe(2);
  prove(olga);
  await slow;
  await expect
    .poll(() => {
      vi.advanceTimersByTime(15_000);
      return asked;
    })
    .toBeGreaterThan(2);
});
