import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KafkaFailure } from '../../../../src/brokers/kafka/transport/failure.ts';
import { sendPartition } from '../../../../src/brokers/kafka/transport/partition-send.ts';
import type { StoredAt } from '../../../../src/brokers/kafka/transport/produce.ts';
import { recordSizes } from '../../../../src/brokers/kafka/transport/record-sizes.ts';
import type { OutgoingMessage, PublishOutcome } from '../../../../src/brokers/transport.ts';

type Send = (messages: readonly OutgoingMessage[]) => StoredAt | KafkaFailure;

function keyed(keys: readonly (string | null)[]): OutgoingMessage[] {
  return keys.map((key, index) => ({ headers: {}, id: String(index), key, payload: 'p' }));
}

async function run(messages: readonly OutgoingMessage[], send: Send, signal = new AbortController().signal) {
  const outcomes = Array.from(messages, (): PublishOutcome => ({ kind: 'blocked' }));
  const sent: string[][] = [];
  const batch = {
    maxBytes: 1_000_000,
    messages,
    outcomes,
    sizes: recordSizes(messages),
    send: async (_partition: number, indexes: readonly number[]) => {
      const some = indexes.flatMap((index) => messages[index] ?? []);
      sent.push(some.map(({ id }) => id));
      return send(some);
    },
    signal,
  };
  const hold = await sendPartition(batch, 7, [...messages.keys()]);
  return { hold, outcomes, sent };
}

/** A broker that refuses every record batch with a bad message in it, and appends the others. */
function refusing(bad: ReadonlySet<string>, log: string[]): Send {
  return (some) => {
    if (some.some(({ id }) => bad.has(id))) return { kind: 'split', reason: 'bad', single: 'permanent' };
    const baseOffset = BigInt(log.length);
    log.push(...some.map(({ id }) => id));
    return { baseOffset, kind: 'stored' };
  };
}

test('of any set of bad messages only these are permanent, only later ones of their keys are skipped, and all others are stored in order', async () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', null), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(keys, fc.array(fc.nat(59)), async (keysOfBatch, badPlaces) => {
      const bad = new Set(badPlaces.map(String));
      const log: string[] = [];
      const messages = keyed(keysOfBatch);
      const { outcomes, hold } = await run(messages, refusing(bad, log));
      expect(hold).toBeUndefined();
      const blocked = new Set<string>();
      const expected = messages.map(({ id, key }) => {
        if (key !== null && blocked.has(key)) return 'blocked';
        if (!bad.has(id)) return 'acknowledged';
        if (key !== null) blocked.add(key);
        return 'permanent';
      });
      expect(outcomes.map(({ kind }) => kind)).toEqual(expected);
      expect(log).toEqual(
        messages.filter((_, index) => expected[index] === 'acknowledged').map(({ id }) => id),
      );
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.kind === 'acknowledged') expect(log[Number(outcome.offset)]).toBe(String(index));
      }
    }),
  );
});

test('one bad message among 2,000 is found within 24 requests', async () => {
  const { sent } = await run(
    keyed(Array.from({ length: 2_000 }, () => null)),
    refusing(new Set(['1234']), []),
  );
  expect(sent.length).toBeLessThanOrEqual(24);
});

test('messages of a request without a clear answer are reported as such until they are acknowledged', async () => {
  // The first request may have stored all of them; alone, the broker refuses 1 and leaves 3 in doubt.
  const { outcomes } = await run(keyed(['x', 'a', 'a', 'b', 'b', 'c']), (some) => {
    const [only] = some;
    if (some.length === 6) return { kind: 'split', reason: 'odd', single: 'ambiguous' };
    if (some.some(({ id }) => id === '1')) return { kind: 'split', reason: 'too large', single: 'permanent' };
    if (some.some(({ id }) => id === '3')) return { kind: 'split', reason: 'odd', single: 'ambiguous' };
    if (only?.id === '5') return { kind: 'hold', reason: 'away', scope: 'topic', stored: false };
    return { baseOffset: 0n, kind: 'stored' };
  });
  expect(outcomes).toEqual([
    { kind: 'acknowledged', offset: '0', partition: 7 },
    { kind: 'ambiguous', error: 'too large' },
    { kind: 'blocked', onWire: true },
    { kind: 'ambiguous', error: 'odd' },
    { kind: 'blocked', onWire: true },
    { kind: 'deferred', onWire: true },
  ]);
});

test('after a hold nothing more is sent: the messages of the request may be stored, the rest is not', async () => {
  const messages = keyed(Array.from({ length: 8 }, () => 'a')).map((one) => ({
    ...one,
    payload: 'p'.repeat(400_000),
  }));
  const { hold, outcomes, sent } = await run(messages, ([first]) =>
    first?.id === '0'
      ? { baseOffset: 5n, kind: 'stored' }
      : { kind: 'hold', reason: 'lost', scope: 'transport', stored: true },
  );
  expect(sent).toEqual([
    ['0', '1'],
    ['2', '3'],
  ]);
  expect(hold).toEqual({ reason: 'lost', scope: 'transport' });
  expect(outcomes.map((one) => (one.kind === 'deferred' ? one.onWire : one.kind))).toEqual([
    'acknowledged',
    'acknowledged',
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('a batch given up between two requests defers the rest as unsent', async () => {
  const stop = new AbortController();
  const messages = keyed(['a', 'b', 'c', 'd']).map((one) => ({ ...one, payload: 'p'.repeat(400_000) }));
  const send: Send = () => {
    stop.abort();
    return { baseOffset: 0n, kind: 'stored' };
  };
  const { hold, outcomes } = await run(messages, send, stop.signal);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['acknowledged', 'acknowledged', 'deferred', 'deferred']);
  expect(hold?.scope).toBe('topic');
});

test('offsets above the safe integers stay exact', async () => {
  const { outcomes } = await run(keyed(['a', 'a']), () => ({
    baseOffset: 9_007_199_254_740_993n,
    kind: 'stored',
  }));
  expect(outcomes).toEqual([
    { kind: 'acknowledged', offset: '9007199254740993', partition: 7 },
    { kind: 'acknowledged', offset: '9007199254740994', partition: 7 },
  ]);
});
