import assert from 'node:assert/strict';
import { partitionOf } from '../transports/kafka/partitioning.ts';
import type { Outcome, OutgoingMessage } from '../transports/transport.ts';
import { type ContractBench, interleaved, keyNames, kindsOf, message } from './contract-bench.ts';
import type { CaseBody } from './contract-cases.ts';
import type { ContractFaults } from './contract-subject.ts';

/** The cases for the faults that a subject can inject. */
export function faultCases(faults: ContractFaults): readonly CaseBody[] {
  const { refused, hold, loseAnswers, failPartition, reorder } = faults;
  return [
    ...(refused === undefined ? [] : refusalCases),
    ...(hold === undefined ? [] : [holdCase]),
    ...(loseAnswers === undefined ? [] : [lostAnswerCase]),
    ...(failPartition === undefined ? [] : [partitionCase]),
    ...(reorder === undefined ? [] : [reorderCase]),
  ];
}

const refusalCases: readonly CaseBody[] = [
  {
    name: 'a refused message stops its own key only: followers are skipped, all others are delivered',
    async run(bench) {
      const batch = interleaved(keyNames(10), 200);
      const bad = 83;
      const messages = batch.map((one, place) => (place === bad ? refusedBy(bench, one) : one));
      const outcomes = await bench.publish(messages);
      const badKey = messages[bad]?.key;
      for (const [place, outcome] of outcomes.entries()) {
        const follows = messages[place]?.key === badKey && place > bad;
        if (place === bad) assertRefused(outcome);
        else assert.equal(outcome.kind, follows ? 'skipped' : 'acknowledged', `outcome of message ${place}`);
      }
    },
  },
  {
    name: 'several refused messages in one batch are all found, without a key too',
    async run(bench) {
      const batch = interleaved([null, 'a', null, 'b'], 120);
      const bad = new Set([0, 41, 60, 119]);
      const outcomes = await bench.publish(
        batch.map((one, place) => (bad.has(place) ? refusedBy(bench, one) : one)),
      );
      for (const place of [0, 41, 60]) assertRefused(outcomes[place]);
      for (const [place, outcome] of outcomes.entries()) {
        if (batch[place]?.key === null && !bad.has(place)) assert.equal(outcome.kind, 'acknowledged');
      }
    },
  },
  {
    name: 'after a refusal the followers are delivered when they are sent again',
    async run(bench) {
      const followers = interleaved(['a'], 5);
      await bench.publish([refusedBy(bench, message('a')), ...followers]);
      await faultsOf(bench).heal();
      await bench.deliver(followers);
    },
  },
];

const holdCase: CaseBody = {
  name: 'while the address is unreachable everything is held, and all of it is delivered afterwards',
  async run(bench) {
    const batch = interleaved(['a', 'b', null], 30);
    await bench.deliver(interleaved(['a', 'b'], 10));
    await faultsOf(bench).hold?.();
    assert.deepEqual(kindsOf(await bench.publish(batch)), ['held']);
    await assert.rejects(bench.subject.transport.probe(bench.subject.address), 'a probe fails in a hold');
    await faultsOf(bench).heal();
    await recovered(bench, batch);
  },
};

const lostAnswerCase: CaseBody = {
  name: 'a batch whose answer was lost counts as maybe stored, never as refused or unsent',
  async run(bench) {
    const batch = interleaved(['a', 'b'], 20);
    await bench.deliver(interleaved(['a', 'b'], 10));
    await faultsOf(bench).loseAnswers?.();
    const outcomes = await bench.publish(batch);
    await faultsOf(bench).heal();
    assert.ok(outcomes.some(maybeStored), 'a message that was stored without an answer is maybe stored');
    assert.ok(
      outcomes.every(({ kind }) => kind !== 'acknowledged'),
      'nothing is acknowledged without an answer',
    );
    await recovered(bench, batch);
  },
};

const partitionCase: CaseBody = {
  name: 'a partition that fails holds its own messages only',
  async run(bench) {
    const { partitions } = bench.subject;
    const batch = interleaved(keyNames(24), 240);
    await bench.deliver(interleaved(keyNames(24), 24));
    await faultsOf(bench).failPartition?.(1);
    const outcomes = await bench.publish(batch);
    for (const [place, { kind }] of outcomes.entries()) {
      const partition = partitionOf(batch[place]?.key ?? '', partitions);
      assert.equal(
        kind,
        partition === 1 ? 'held' : 'acknowledged',
        `outcome of message ${place} in ${partition}`,
      );
    }
    await faultsOf(bench).heal();
    await recovered(
      bench,
      batch.filter((_, place) => outcomes[place]?.kind === 'held'),
    );
  },
};

const reorderCase: CaseBody = {
  name: 'a key keeps its order when the broker serves requests late and out of turn',
  async run(bench) {
    await faultsOf(bench).reorder?.();
    const lanes = keyNames(4).map((lane) =>
      interleaved([`${lane}-a`, `${lane}-b`, `${lane}-c`], 90, 'y'.repeat(9_000)),
    );
    await Promise.all(lanes.map((lane) => bench.deliver(lane)));
    await faultsOf(bench).heal();
  },
};

/** Sends a batch again, as the relay does, after the address can be reached. */
async function recovered(bench: ContractBench, batch: readonly OutgoingMessage[]): Promise<void> {
  await bench.subject.transport.probe(bench.subject.address);
  await bench.deliver(batch);
}

function faultsOf(bench: ContractBench): ContractFaults {
  const { faults } = bench.subject;
  assert.ok(faults !== undefined, 'every subject of make() has the same faults');
  return faults;
}

function refusedBy(bench: ContractBench, one: OutgoingMessage): OutgoingMessage {
  return faultsOf(bench).refused?.(one) ?? one;
}

function assertRefused(outcome: Outcome | undefined): void {
  assert.ok(
    outcome?.kind === 'rejected' || outcome?.kind === 'permanent',
    `a refused message was ${outcome?.kind}`,
  );
  assert.notEqual(outcome.error, '', 'a refusal has a reason');
}

function maybeStored(outcome: Outcome): boolean {
  return outcome.kind === 'ambiguous' || (outcome.kind === 'held' && outcome.onWire);
}
