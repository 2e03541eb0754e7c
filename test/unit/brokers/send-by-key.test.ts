import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SendOutcome, sendByKey } from '../../../src/brokers/send-by-key.ts';
import type { OutgoingMessage } from '../../../src/brokers/transport.ts';

const acknowledged: SendOutcome = { kind: 'acknowledged', partition: null, offset: null };
const away = { scope: 'transport', reason: 'away' } as const;

/** One message per key; its id is its index. */
function batch(
  keys: readonly (string | null)[],
  signal = new AbortController().signal,
): { messages: readonly OutgoingMessage[]; signal: AbortSignal } {
  return {
    messages: keys.map((key, place) => ({ id: String(place), key, payload: '{}', headers: {} })),
    signal,
  };
}

test('a refused message blocks the later messages of its key, and no others', async () => {
  const sent: string[] = [];

  const { outcomes, hold } = await sendByKey(batch(['a', 'b', 'a', null, 'b']), 2, ({ id }) => {
    sent.push(id);
    return id === '0' ? { kind: 'permanent', error: 'no' } : acknowledged;
  });

  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'permanent',
    'acknowledged',
    'blocked',
    'acknowledged',
    'acknowledged',
  ]);
  expect(sent.toSorted()).toEqual(['0', '1', '3', '4']);
  expect(hold).toBeUndefined();
});

test('a hold defers unsent messages, and its own message states whether it may be stored', async () => {
  const { outcomes, hold } = await sendByKey(batch(['a', 'b', 'a', 'c']), 1, ({ id }) =>
    id === '1' ? { kind: 'hold', hold: away, onWire: true } : acknowledged,
  );

  expect(outcomes).toEqual([
    acknowledged,
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: false },
  ]);
  expect(hold).toBe(away);
});

test('a batch that is given up sends nothing more, and has a hold', async () => {
  const stop = new AbortController();

  const { outcomes, hold } = await sendByKey(batch(['a', 'a', 'b'], stop.signal), 1, () => {
    stop.abort();
    return acknowledged;
  });

  expect(outcomes.map(({ kind }) => kind)).toEqual(['acknowledged', 'deferred', 'deferred']);
  expect(hold).toMatchObject({ scope: 'topic' });
});

test('an error thrown by a send makes its message ambiguous', async () => {
  const { outcomes } = await sendByKey(batch(['a', 'a']), 4, () => Promise.reject(new Error('torn')));

  expect(outcomes).toEqual([{ kind: 'ambiguous', error: 'torn' }, { kind: 'blocked' }]);
});

test('messages of a key are sent one at a time and in order, others concurrently up to the limit', async () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', null), { maxLength: 40 });

  await fc.assert(
    fc.asyncProperty(keys, fc.integer({ min: 1, max: 6 }), async (some, concurrency) => {
      const { messages, signal } = batch(some);
      const open = new Set<string>();
      const order = new Map<string, number[]>();
      let inFlight = 0;
      const { outcomes } = await sendByKey({ messages, signal }, concurrency, async ({ id, key }) => {
        inFlight += 1;
        expect(inFlight).toBeLessThanOrEqual(concurrency);
        if (key !== null) {
          expect(open).not.toContain(key);
          open.add(key);
          order.set(key, [...(order.get(key) ?? []), Number(id)]);
        }
        await turn();
        if (key !== null) open.delete(key);
        inFlight -= 1;
        return acknowledged;
      });
      expect(outcomes).toEqual(messages.map(() => acknowledged));
      for (const indexes of order.values()) expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    }),
  );
});
