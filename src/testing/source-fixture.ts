import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type {
  IncomingBatch,
  IncomingMessage,
  Lag,
  Partition,
  Subscribed,
  Subscription,
} from '../brokers/source.ts';
import { rest } from '../core/rest.ts';
import { OfferRules } from './source-rules.ts';
import type { SourceMessage, SourceSubject } from './source-subject.ts';

/** A message that was offered to a member. */
export interface Offer {
  /** Number of the message, from 1 in the order of sending. */
  readonly n: number;
  readonly message: IncomingMessage;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** How a member of a case differs from one that takes everything. */
export interface MemberOptions extends Partial<Subscription> {
  /** Takes a batch. @defaultValue acknowledges every message */
  readonly take?: (batch: IncomingBatch, offers: readonly Offer[]) => void | Promise<void>;
}

/** A member of a group, and what it was offered. */
export interface Member {
  readonly offers: readonly Offer[];
  /** The numbers of what it was offered, each once, in the order of their first offers. */
  numbers(): readonly number[];
  /** The partitions that it has now. */
  assigned(): readonly Partition[];
  lag(): Promise<readonly Lag[]>;
  stop(): Promise<void>;
}

/** Blocks its awaiters until it is opened. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** What a case works with: the subject, numbered messages, members, and the rules that hold in every case. */
export class SourceFixture {
  readonly subject: SourceSubject;
  readonly address: string;
  readonly group = `contract-${randomUUID()}`;
  readonly #rules: OfferRules;
  readonly #members: Member[] = [];
  readonly #gates: Gate[] = [];
  readonly #patienceMs: number;
  #sent = 0;

  /** @param patienceMs timeout of everything that a case waits for */
  constructor(subject: SourceSubject, ordered: boolean, patienceMs: number) {
    this.subject = subject;
    this.#patienceMs = patienceMs;
    this.address = subject.addresses[0];
    this.#rules = new OfferRules(ordered);
  }

  /** Sends `count` messages, alternating over the partitions or all to one; returns their numbers. */
  send(count: number, partition?: number, address = this.address): Promise<readonly number[]> {
    const { partitions } = this.subject;
    return this.sendThese(
      Array.from({ length: count }, (_, index) => ({
        partition: partition ?? index % partitions,
        key: index % 3 === 2 ? null : `key-${index % 3}-ž`,
        body: JSON.stringify({ index, text: 'žluťoučký 🐎' }),
        headers: { ce_type: 'contract', 'x-unicode': 'kůň 🐎' },
      })),
      address,
    );
  }

  /** Sends these, each with a number in its header `n`. */
  async sendThese(messages: readonly SourceMessage[], address = this.address): Promise<readonly number[]> {
    const numbered = messages.map((message, index) => {
      const n = this.#sent + 1 + index;
      return { n, message: { ...message, headers: { ...message.headers, n: String(n) } } };
    });
    this.#sent += messages.length;
    for (const { n, message } of numbered) this.#rules.sent(n, address, message);
    await this.subject.send(
      address,
      numbered.map(({ message }) => message),
    );
    return numbered.map(({ n }) => n);
  }

  /** Joins the group of the case, or another. */
  async join({ take = acknowledgeAll, ...options }: MemberOptions = {}): Promise<Member> {
    const offers: Offer[] = [];
    let assigned: readonly Partition[] = [];
    const settings = { group: this.group, concurrency: 4, batchSize: 100, ...options };
    const watched = this.#rules.member(settings.group, settings.concurrency);
    const subscribed = await this.subject.source.subscribe({
      addresses: [this.address],
      fromBeginning: true,
      joinWithinMs: this.#patienceMs,
      assigned: (partitions) => {
        assigned = partitions;
      },
      disconnected: () => undefined,
      ...settings,
      handle: async (batch) => {
        const end = watched.begin(batch);
        try {
          const atMs = performance.now();
          const news = batch.messages.map((message) => ({ n: numberOf(message), message, atMs }));
          offers.push(...news);
          await take(batch, news);
        } finally {
          end();
        }
      },
    });
    const member = memberOf(offers, subscribed, () => assigned);
    this.#members.push(member);
    return member;
  }

  /** Asserts the rules of the port for everything that was offered. */
  verify(): void {
    assert.deepEqual(this.#rules.broken(), []);
  }

  /** Waits until the condition holds; after the timeout, fails with the description. */
  async eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + this.#patienceMs;
    while (!(await condition())) {
      assert.ok(performance.now() < endMs, `in time: ${what}`);
      await rest(10);
    }
  }

  /** Holds a batch in hand until it is opened, at the latest when the case ends. */
  gate(): Gate {
    const gate = newGate();
    this.#gates.push(gate);
    return gate;
  }

  /** Ends all members. */
  async stop(): Promise<void> {
    for (const gate of this.#gates) gate.open();
    await Promise.all(this.#members.map((member) => member.stop()));
  }
}

/** Whether all of these numbers are among the others. */
export function includesAll(numbers: readonly number[], wanted: readonly number[]): boolean {
  const known = new Set(numbers);
  return wanted.every((n) => known.has(n));
}

export function numberOf({ headers }: IncomingMessage): number {
  return Number(headers['n']);
}

export function acknowledgeAll(batch: IncomingBatch): void {
  for (const message of batch.messages) batch.acknowledge(message);
}

function newGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function memberOf(
  offers: readonly Offer[],
  subscribed: Subscribed,
  assigned: () => readonly Partition[],
): Member {
  return {
    offers,
    numbers: () => [...new Set(offers.map(({ n }) => n))],
    assigned,
    lag: () => subscribed.lag(),
    stop: () => subscribed.stop(),
  };
}
