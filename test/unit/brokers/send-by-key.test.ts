import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SendOutcome, sendByKey } from '../../../src/brokers/send-by-key.ts';
import type { OutgoingMessage } from '../../../src/brokers/transport.ts';

const acknowledged: SendOutcome = { kind: 'acknowledged', partition: null, offset: null };

/** One message per key; its id is its index. */
function batch(keys: readonly (string | null)[]): {
  messages: readonly OutgoingMessage[];
  signal: AbortSignal;
} {
  return {
    messages: keys.map((key, place) => ({ id: String(place), key, payload: '{}', headers: {} })),
    signal: new AbortController().signal,
  };
}

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
