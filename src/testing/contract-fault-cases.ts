import assert from 'node:assert/strict';
import { partitionOf } from '../brokers/partitioning.ts';
import type { OutgoingMessage, PublishOutcome } from '../brokers/transport.ts';
import type { CaseBody } from './contract-cases.ts';
import { type ContractFixture, interleaved, keyNames, kindsOf, message } from './contract-fixture.ts';
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
    name: 'a refused message stops only its own key: later messages are blocked, all others are delivered',
    async run(fixture) {
      const batch = interleaved(keyNames(10), 200);
      const bad = 83;
      const messages = batch.map((one, index) => (index === bad ? refusedBy(fixture, one) : one));
      const outcomes = await fixture.publish(messages);
      const badKey = messages[bad]?.key;
      for (const [index, outcome] of outcomes.entries()) {
        const follows = messages[index]?.key === badKey && index > bad;
        if (index === bad) assertRefused(outcome);
        else assert.equal(outcome.kind, follows ? 'blocked' : 'acknowledged', `outcome of message ${index}`);
      }
    },
  },
  {
    name: 'several refused messages in one batch are all reported, also without a key',
    async run(fixture) {
      const batch = interleaved([null, 'a', null, 'b'], 120);
      const bad = new Set([0, 41, 60, 119]);
      const outcomes = await fixture.publish(
        batch.map((one, index) => (bad.has(index) ? refusedBy(fixture, one) : one)),
      );
      for (const index of [0, 41, 60]) assertRefused(outcomes[index]);
      for (const [index, outcome] of outcomes.entries()) {
        if (batch[index]?.key === null && !bad.has(index)) assert.equal(outcome.kind, 'acknowledged');
      }
    },
  },
  {
    name: 'after a refusal the blocked messages are delivered when they are sent again',
    async run(fixture) {
      const followers = interleaved(['a'], 5);
      await fixture.publish([refusedBy(fixture, message('a')), ...followers]);
      await faultsOf(fixture).heal();
      await fixture.deliver(followers);
    },
  },
];

const holdCase: CaseBody = {
  name: 'while the address is unreachable everything is deferred, and all of it is delivered afterwards',
  async run(fixture) {
    const batch = interleaved(['a', 'b', null], 30);
    await fixture.deliver(interleaved(['a', 'b'], 10));
    await faultsOf(fixture).hold?.();
    assert.deepEqual(kindsOf(await fixture.publish(batch)), ['deferred']);
    await assert.rejects(fixture.subject.transport.probe(fixture.subject.address), 'a probe fails in a hold');
    await faultsOf(fixture).heal();
    await recovered(fixture, batch);
  },
};

const lostAnswerCase: CaseBody = {
  name: 'a batch whose answer was lost may be stored, and is never reported as refused or unsent',
  async run(fixture) {
    const batch = interleaved(['a', 'b'], 20);
    await fixture.deliver(interleaved(['a', 'b'], 10));
    await faultsOf(fixture).loseAnswers?.();
    const outcomes = await fixture.publish(batch);
    await faultsOf(fixture).heal();
    assert.ok(outcomes.some(maybeStored), 'a message that was stored without an answer is maybe stored');
    assert.ok(
      outcomes.every(({ kind }) => kind !== 'acknowledged'),
      'nothing is acknowledged without an answer',
    );
    await recovered(fixture, batch);
  },
};

const partitionCase: CaseBody = {
  name: 'a failed partition defers only its own messages',
  async run(fixture) {
    const { partitions } = fixture.subject;
    const batch = interleaved(keyNames(24), 240);
    await fixture.deliver(interleaved(keyNames(24), 24));
    await faultsOf(fixture).failPartition?.(1);
    const outcomes = await fixture.publish(batch);
    for (const [index, { kind }] of outcomes.entries()) {
      const partition = partitionOf(batch[index]?.key ?? '', partitions);
      assert.equal(
        kind,
        partition === 1 ? 'deferred' : 'acknowledged',
        `outcome of message ${index} in ${partition}`,
      );
    }
    await faultsOf(fixture).heal();
    await recovered(
      fixture,
      batch.filter((_, index) => outcomes[index]?.kind === 'deferred'),
    );
  },
};

const reorderCase: CaseBody = {
  name: 'a key keeps its order when the broker serves requests late and out of order',
  async run(fixture) {
    await faultsOf(fixture).reorder?.();
    const lanes = keyNames(4).map((lane) =>
      interleaved([`${lane}-a`, `${lane}-b`, `${lane}-c`], 90, 'y'.repeat(9_000)),
    );
    await Promise.all(lanes.map((lane) => fixture.deliver(lane)));
    await faultsOf(fixture).heal();
  },
};

/** Publishes a batch again, like the relay, once the address can be reached. */
async function recovered(fixture: ContractFixture, batch: readonly OutgoingMessage[]): Promise<void> {
  await fixture.subject.transport.probe(fixture.subject.address);
  await fixture.deliver(batch);
}

function faultsOf(fixture: ContractFixture): ContractFaults {
  const { faults } = fixture.subject;
  assert.ok(faults !== undefined, 'every subject of make() has the same faults');
  return faults;
}

function refusedBy(fixture: ContractFixture, one: OutgoingMessage): OutgoingMessage {
  return faultsOf(fixture).refused?.(one) ?? one;
}

function assertRefused(outcome: PublishOutcome | undefined): void {
  assert.ok(
    outcome?.kind === 'rejected' || outcome?.kind === 'permanent',
    `a refused message was ${outcome?.kind}`,
  );
  assert.notEqual(outcome.error, '', 'a refusal has a reason');
}

function maybeStored(outcome: PublishOutcome): boolean {
  return outcome.kind === 'ambiguous' || (outcome.kind === 'deferred' && outcome.onWire);
}
