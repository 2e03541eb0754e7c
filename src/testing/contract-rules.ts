import assert from 'node:assert/strict';
import type { OutgoingBatch, OutgoingMessage, PublishOutcome, PublishResult } from '../brokers/transport.ts';
import type { DeliveredMessage } from './contract-subject.ts';

/** A batch and what the transport answered to it. */
export interface Exchange {
  readonly batch: OutgoingBatch;
  readonly result: PublishResult;
}

/** The rules that hold in every case, checked against what the broker really holds. */
export function assertRules(exchanges: readonly Exchange[], received: readonly DeliveredMessage[]): void {
  for (const exchange of exchanges) {
    assertShape(exchange);
    assertFollowers(exchange);
  }
  const stored = new Map<string, DeliveredMessage[]>();
  for (const message of received) stored.set(message.id, [...(stored.get(message.id) ?? []), message]);
  for (const exchange of exchanges) assertStored(exchange, stored);
  assertNothingElse(exchanges, stored);
  assertKeyOrder(exchanges, received);
}

function assertShape({ batch, result }: Exchange): void {
  const { outcomes, hold } = result;
  assert.equal(outcomes.length, batch.messages.length, 'there is one outcome per message');
  assert.ok(
    outcomes.every((outcome) => outcome !== undefined),
    'no message is left without an outcome',
  );
  const deferred = outcomes.some(({ kind }) => kind === 'deferred');
  assert.equal(hold !== undefined, deferred, 'a hold is named exactly when an outcome is deferred');
  if (hold !== undefined) assert.notEqual(hold.reason, '', 'a hold has a reason');
}

function assertFollowers({ batch, result }: Exchange): void {
  const blocked = new Map<string, string>();
  for (const [message, outcome] of pairs(batch, result)) {
    const head = message.key === null ? undefined : blocked.get(message.key);
    if (head !== undefined) {
      assert.ok(
        outcome.kind === 'blocked' || outcome.kind === 'deferred',
        `message ${message.id} was ${outcome.kind}, though message ${head} of its key was not acknowledged`,
      );
    } else {
      assert.notEqual(
        outcome.kind,
        'blocked',
        `message ${message.id} is blocked, but nothing before it failed`,
      );
    }
    if (message.key !== null && head === undefined && outcome.kind !== 'acknowledged')
      blocked.set(message.key, message.id);
  }
}

/** Whether an outcome says that the broker has the message: `maybe` proves nothing either way. */
function claim(outcome: PublishOutcome): 'yes' | 'no' | 'maybe' {
  if (outcome.kind === 'acknowledged') return 'yes';
  if (outcome.kind === 'ambiguous') return 'maybe';
  const mayBeStored = (outcome.kind === 'deferred' || outcome.kind === 'blocked') && outcome.onWire === true;
  return mayBeStored ? 'maybe' : 'no';
}

function assertStored(
  { batch, result }: Exchange,
  stored: ReadonlyMap<string, readonly DeliveredMessage[]>,
): void {
  for (const [message, outcome] of pairs(batch, result)) {
    if (outcome.kind !== 'acknowledged') continue;
    const copies = stored.get(message.id) ?? [];
    assert.ok(copies.length > 0, `message ${message.id} was acknowledged, but the broker does not hold it`);
    for (const copy of copies) assertSameContent(message, copy);
    if (outcome.offset === null) continue;
    assert.ok(
      copies.some(({ partition, offset }) => partition === outcome.partition && offset === outcome.offset),
      `message ${message.id} does not lie at the offset ${outcome.offset} that was answered`,
    );
  }
}

function assertSameContent(sent: OutgoingMessage, copy: DeliveredMessage): void {
  assert.equal(copy.key, sent.key, `the key of message ${sent.id} arrives as it was sent`);
  assert.equal(copy.payload, sent.payload, `the payload of message ${sent.id} arrives as it was sent`);
  for (const [name, value] of Object.entries(sent.headers)) {
    assert.equal(
      copy.headers[name],
      value,
      `the header ${name} of message ${sent.id} arrives as it was sent`,
    );
  }
}

/** The broker holds no more copies of a message than there are outcomes that allow for one. */
function assertNothingElse(
  exchanges: readonly Exchange[],
  stored: ReadonlyMap<string, readonly DeliveredMessage[]>,
): void {
  const most = new Map<string, number>();
  for (const { batch, result } of exchanges) {
    for (const [message, outcome] of pairs(batch, result)) {
      most.set(message.id, (most.get(message.id) ?? 0) + (claim(outcome) === 'no' ? 0 : 1));
    }
  }
  for (const [id, copies] of stored) {
    const allowed = most.get(id) ?? 0;
    assert.ok(
      copies.length <= allowed,
      `the broker holds message ${id} ${copies.length} times, but the answers allow for ${allowed}`,
    );
  }
}

/** Repeats are dropped by id, as in a consumer: the remaining messages of a key are in the order of the batches. */
function assertKeyOrder(exchanges: readonly Exchange[], received: readonly DeliveredMessage[]): void {
  const expected = byKey(exchanges.flatMap(({ batch }) => batch.messages));
  for (const [key, arrived] of byKey(received)) {
    const present = new Set(arrived);
    const order = (expected.get(key) ?? []).filter((id) => present.has(id));
    assert.deepEqual(arrived, order, `messages of the key ${key} arrive in their order`);
  }
}

function byKey(messages: readonly OutgoingMessage[]): Map<string, string[]> {
  const ids = new Map<string, Set<string>>();
  for (const { key, id } of messages) {
    if (key === null) continue;
    const known = ids.get(key) ?? new Set();
    ids.set(key, known.add(id));
  }
  return new Map([...ids].map(([key, set]) => [key, [...set]]));
}

function pairs(
  batch: OutgoingBatch,
  result: PublishResult,
): readonly (readonly [OutgoingMessage, PublishOutcome])[] {
  return batch.messages.flatMap((message, index) => {
    const outcome = result.outcomes[index];
    return outcome === undefined ? [] : [[message, outcome] as const];
  });
}
