import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { OutgoingBatch, OutgoingMessage, PublishOutcome } from '../brokers/transport.ts';
import { assertRules, type Exchange } from './contract-rules.ts';
import type { TransportSubject } from './contract-subject.ts';

/** What a case works with: the subject, and a record of every exchange with it. */
export class ContractFixture {
  readonly subject: TransportSubject;
  readonly #exchanges: Exchange[] = [];

  constructor(subject: TransportSubject) {
    this.subject = subject;
  }

  /** Publishes messages as one batch, records the answer, and returns its outcomes. */
  async publish(
    messages: readonly OutgoingMessage[],
    signal?: AbortSignal,
  ): Promise<readonly PublishOutcome[]> {
    const { address, partitions, transport } = this.subject;
    const batch: OutgoingBatch = {
      address,
      messages,
      partitions,
      signal: signal ?? new AbortController().signal,
    };
    const result = await transport.publish(batch);
    this.#exchanges.push({ batch, result });
    return result.outcomes;
  }

  /** Publishes messages and asserts that all of them were acknowledged. */
  async deliver(messages: readonly OutgoingMessage[]): Promise<void> {
    const outcomes = await this.publish(messages);
    const other = outcomes.find(({ kind }) => kind !== 'acknowledged');
    assert.equal(other, undefined, `every message is acknowledged, but one was ${JSON.stringify(other)}`);
  }

  /** Checks the rules of the port for everything that was published, in the order of its answers. */
  async verify(): Promise<void> {
    assertRules(this.#exchanges, await this.subject.read());
  }
}

/** A message with headers and text outside of ASCII, like those of the relay. */
export function message(key: string | null, text = 'hello', id: string = randomUUID()): OutgoingMessage {
  return {
    headers: { ce_id: id, ce_specversion: '1.0', ce_type: 'contract', 'content-type': 'application/json' },
    id,
    key,
    payload: JSON.stringify({ text, unicode: 'žluťoučký 🐎' }),
  };
}

/** `count` messages with alternating keys. */
export function interleaved(
  keys: readonly (string | null)[],
  count: number,
  text?: string,
): OutgoingMessage[] {
  return Array.from({ length: count }, (_, index) => message(keys[index % keys.length] ?? null, text));
}

/** `count` different keys, enough to reach every partition. */
export function keyNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `key-${index}`);
}

/** The outcome kinds, each once. */
export function kindsOf(outcomes: readonly PublishOutcome[]): readonly PublishOutcome['kind'][] {
  return [...new Set(outcomes.map(({ kind }) => kind))];
}
