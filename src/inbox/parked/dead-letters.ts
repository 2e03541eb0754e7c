import { randomUUID } from 'node:crypto';
import { OutboxError } from '../../core/errors.ts';
import { Loop, type RoundRest } from '../../core/loop.ts';
import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import {
  endLetterTurn,
  markCopied,
  readUncopied,
  takeLetterTurn,
  type UncopiedMessage,
} from '../../store/inbox/dead-letters.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { TransactionClient } from '../transaction-client.ts';
import { type DeadLetterSender, type LetterOutcome, letterOf } from './dead-letter.ts';

export type { DeadLetterSender } from './dead-letter.ts';

export interface DeadLettersInput {
  /** The consumer's. */
  readonly client: TransactionClient<Transaction>;
  readonly group: string;
  /** Where the messages arrived. */
  readonly addresses: readonly string[];
  readonly deadAddressOf: (address: string) => string;
  readonly sender: DeadLetterSender;
  readonly report: ConsumerReport;
  /** @defaultValue every 10 s, every second while it is another consumer's turn; after a failure in 10 s, then 20 s, then every 30 s */
  readonly paces?: Partial<DeadLetterPaces>;
}

/** Milliseconds. */
interface DeadLetterPaces {
  readonly lookMs: number;
  readonly firstAgainMs: number;
  readonly maxAgainMs: number;
  /** While another consumer of the group copies. */
  readonly turnMs: number;
}

/** Letters that a round could not deliver. */
interface Untaken {
  count: number;
  /** Address of the first of them, and why it was not taken. */
  first?: string;
}

const paces: DeadLetterPaces = { lookMs: 10_000, firstAgainMs: 10_000, maxAgainMs: 30_000, turnMs: 1_000 };
const maxAtOnce = 100;
/** The turn of a consumer ends this long after its last page, so that one that died does not keep it. */
const turnEndsMs = 60_000;

/**
 * Copies failed messages to their dead-letter address, at least once each, for people and programs that watch it. The
 * messages stay in the database, where they can be retried. Only one consumer of a group does this at a time.
 *
 * A letter that is not taken does not block those behind it, not even those of its key. It is sent again in every round, and
 * reported as `dead-letters-failing`, until it is taken or a person has decided about its message.
 */
export class DeadLetters {
  readonly #input: DeadLettersInput;
  readonly #owner = randomUUID();
  readonly #paces: DeadLetterPaces;
  readonly #turns = new Loop(() => this.#next());
  #retryInMs: number;

  constructor(input: DeadLettersInput) {
    this.#input = input;
    this.#paces = { ...paces, ...input.paces };
    this.#retryInMs = this.#paces.firstAgainMs;
    this.#turns.start();
  }

  /** Begins a round at once: a message has just failed. After a failed round the pause is kept. */
  nudge(): void {
    this.#turns.nudge();
  }

  async stop(): Promise<void> {
    await this.#turns.stop();
    await this.#input.sender.close();
  }

  async #next(): Promise<number | RoundRest> {
    const { firstAgainMs, lookMs, maxAgainMs, turnMs } = this.#paces;
    const round = await this.#turn().catch((thrown: unknown) => ({ error: thrown }));
    if (round === 'not our turn') return { ms: turnMs, keptMs: turnMs };
    const { error } = round;
    const retryInMs = this.#retryInMs;
    this.#retryInMs = error === undefined ? firstAgainMs : Math.min(2 * retryInMs, maxAgainMs);
    // A message that failed during the round starts another one.
    if (error === undefined) return lookMs;
    this.#input.report({ type: 'dead-letters-failing', error, retryInMs });
    return { ms: retryInMs, keptMs: retryInMs };
  }

  async #turn(): Promise<'not our turn' | { readonly error: unknown }> {
    const { addresses, group } = this.#input;
    // Usually there is nothing to copy.
    if ((await this.#ask((sql) => readUncopied(sql, group, addresses, '0', 1))).length === 0)
      return { error: undefined };
    if (!(await this.#ask((sql) => takeLetterTurn(sql, group, this.#owner, turnEndsMs))))
      return 'not our turn';
    try {
      return { error: errorOf(await this.#round()) };
    } finally {
      await this.#ask((sql) => endLetterTurn(sql, group, this.#owner)).catch(() => undefined);
    }
  }

  /** Visits every failed message without a copy once, in pages, as long as it is our turn. */
  async #round(): Promise<Untaken> {
    const { addresses, deadAddressOf, group } = this.#input;
    const untaken: Untaken = { count: 0 };
    const away = new Set<string>();
    let after = '0';
    for (let complete = false; !complete && !this.#turns.stopping.aborted; ) {
      const open = addresses.filter((address) => !away.has(deadAddressOf(address)));
      const from = after;
      const page = await this.#ask(async (sql) =>
        (await takeLetterTurn(sql, group, this.#owner, turnEndsMs))
          ? readUncopied(sql, group, open, from, maxAtOnce)
          : [],
      );
      for (const address of new Set(page.map((message) => deadAddressOf(message.address)))) {
        const messages = page.filter((message) => deadAddressOf(message.address) === address);
        if (!(await this.#copy(address, messages, untaken))) away.add(address);
      }
      complete = page.length < maxAtOnce;
      after = page.at(-1)?.position ?? after;
    }
    return untaken;
  }

  /** @returns false when nothing more is taken at this address for now */
  async #copy(address: string, messages: readonly UncopiedMessage[], untaken: Untaken): Promise<boolean> {
    let left = messages;
    while (left.length > 0 && !this.#turns.stopping.aborted) {
      const answers = await this.#send(address, left);
      const those = (kind: LetterOutcome['kind']) => left.filter((_, at) => answers[at]?.kind === kind);
      const taken = those('taken');
      if (taken.length > 0) await this.#note(taken);
      const away = those('deferred').length > 0;
      const blocked = those('blocked');
      // Letters blocked behind an earlier one of their key are sent without it.
      const next = away || blocked.length === left.length ? [] : blocked;
      const count = left.length - taken.length - next.length;
      const reason = answers.find((answer) => 'reason' in answer)?.reason ?? 'all of them were blocked';
      if (count > 0) untaken.first ??= `at ${address}: ${reason}`;
      untaken.count += count;
      if (away) return false;
      left = next;
    }
    return true;
  }

  async #send(address: string, messages: readonly UncopiedMessage[]): Promise<readonly LetterOutcome[]> {
    const { group, sender } = this.#input;
    return sender.send(messages.map((message) => letterOf(group, message, address)));
  }

  async #note(messages: readonly UncopiedMessage[]): Promise<void> {
    const ids = messages.map(({ id }) => id);
    await this.#ask((sql) => markCopied(sql, this.#input.group, ids));
  }

  #ask<Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#input.client.$transaction((tx) => question(sqlOf(tx)));
  }
}

function errorOf({ count, first }: Untaken): OutboxError | undefined {
  if (first === undefined) return undefined;
  return new OutboxError(
    'OUTBOX_DEAD_LETTER_REFUSED',
    `${count} dead letters were not accepted, the first ${first}`,
    { details: { count } },
  );
}
