import { AssertionError } from 'node:assert';
import { expect, test } from 'vitest';
import { type MemoryTransport, memoryTransport } from '../../src/brokers/memory/memory-transport.ts';
import type { OutgoingBatch, PublishOutcome, PublishResult } from '../../src/brokers/transport.ts';
import type { TransportSubject } from '../../src/testing/contract-subject.ts';
import { transportContract } from '../../src/testing/transport-contract.ts';

type Publish = (batch: OutgoingBatch, memory: MemoryTransport) => Promise<PublishResult>;

/** Of these cases, by default of all, the names of those that a transport with this `publish` fails. */
async function failures(publish: Publish, only?: readonly string[], reverseRead = false): Promise<string[]> {
  const make = async (): Promise<TransportSubject> => {
    const memory = memoryTransport({ partitions: 3 });
    const refusedIds = new Set<string>();
    return {
      address: 'broken',
      partitions: 3,
      transport: { ...memory, publish: (batch) => publish(batch, memory) },
      read: async () => (reverseRead ? memory.records('broken').toReversed() : memory.records('broken')),
      dispose: async () => {},
      faults: {
        heal: async () => memory.faults.heal(),
        hold: async () => memory.faults.hold(),
        loseAnswers: async () => memory.faults.loseNextAnswer(),
        failPartition: async (partition) => memory.faults.failPartition(partition),
        refused(message) {
          refusedIds.add(message.id);
          memory.faults.refuse(({ id }) => (refusedIds.has(id) ? 'permanent' : undefined));
          return message;
        },
      },
    };
  };
  const failed: string[] = [];
  for (const { name, run } of await transportContract(make)) {
    if (only?.includes(name) === false) continue;
    await run().catch((error: unknown) => {
      if (!(error instanceof AssertionError)) throw error;
      failed.push(name);
    });
  }
  return failed;
}

/** Publishes and rewrites every outcome. */
function rewriting(rewrite: (outcome: PublishOutcome, index: number) => PublishOutcome): Publish {
  return async (batch, memory) => {
    const { outcomes, ...rest } = await memory.publish(batch);
    return { ...rest, outcomes: outcomes.map(rewrite) };
  };
}

const whole = 'every message of a batch is acknowledged and arrives unchanged, with or without a key';
const refusal =
  'a refused message stops only its own key: later messages are blocked, all others are delivered';
const unreachable =
  'while the address is unreachable everything is deferred, and all of it is delivered afterwards';
const lost = 'a batch whose answer was lost may be stored, and is never reported as refused or unsent';
const partition = 'a failed partition defers only its own messages';

test('a correct transport fails no case', async () => {
  expect(await failures((batch, memory) => memory.publish(batch))).toEqual([]);
});

test('a transport that acknowledges messages it never stored is detected', async () => {
  const broken: Publish = async (batch, memory) => {
    const { outcomes } = await memory.publish({ ...batch, messages: batch.messages.slice(1) });
    return { outcomes: [{ kind: 'acknowledged', offset: null, partition: null }, ...outcomes] };
  };
  expect(await failures(broken, [whole])).toEqual([whole]);
});

test('a transport that returns a wrong offset is detected', async () => {
  const broken = rewriting((outcome) =>
    outcome.kind === 'acknowledged' ? { ...outcome, offset: String(Number(outcome.offset) + 1) } : outcome,
  );
  expect(await failures(broken, [whole])).toEqual([whole]);
});

test('a transport that stores a batch twice is detected', async () => {
  const broken: Publish = async (batch, memory) => {
    await memory.publish(batch);
    return memory.publish(batch);
  };
  expect(await failures(broken, [whole])).toEqual([whole]);
});

test('a transport that changes payloads is detected', async () => {
  const broken: Publish = (batch, memory) =>
    memory.publish({
      ...batch,
      messages: batch.messages.map((one) => ({ ...one, payload: one.payload.trim().slice(1) })),
    });
  expect(await failures(broken, [whole])).toEqual([whole]);
});

test('a broker that reverses the order of a key is detected', async () => {
  expect(await failures((batch, memory) => memory.publish(batch), [whole], true)).toEqual([whole]);
});

test('a transport that leaves a message without an outcome is detected', async () => {
  const broken: Publish = async (batch, memory) => {
    const { outcomes } = await memory.publish(batch);
    return { outcomes: outcomes.slice(1) };
  };
  expect(await failures(broken, [whole])).toEqual([whole]);
});

test('a transport that sends later messages of a refused key is detected', async () => {
  const broken: Publish = async (batch, memory) => {
    const outcomes: PublishOutcome[] = [];
    for (const one of batch.messages) {
      outcomes.push(...(await memory.publish({ ...batch, messages: [one] })).outcomes);
    }
    const deferred = outcomes.some(({ kind }) => kind === 'deferred');
    return deferred ? { outcomes, hold: { reason: 'away', scope: 'topic' } } : { outcomes };
  };
  expect(await failures(broken, [refusal])).toEqual([refusal]);
});

test('a transport that defers messages without a hold is detected', async () => {
  const broken: Publish = async (batch, memory) => ({ outcomes: (await memory.publish(batch)).outcomes });
  expect(await failures(broken, [unreachable, lost, partition])).toHaveLength(3);
});

test('a transport that reports a lost answer as unsent is detected', async () => {
  const broken = rewriting((outcome) =>
    outcome.kind === 'deferred' ? { ...outcome, onWire: false } : outcome,
  );
  expect(await failures(broken)).toEqual([lost]);
});

test('a transport that defers the whole batch for one partition is detected', async () => {
  const broken: Publish = async (batch, memory) => {
    const result = await memory.publish(batch);
    if (result.hold === undefined) return result;
    return { ...result, outcomes: result.outcomes.map(() => ({ kind: 'deferred', onWire: true })) };
  };
  expect(await failures(broken, [partition])).toEqual([partition]);
});
