import { setMaxListeners } from 'node:events';
import { OutboxError } from '../../core/errors.ts';
import { readable } from '../../core/reason.ts';
import { startTimer } from '../../core/timer.ts';
import { withItsWrites } from '../../store/database/pending-writes.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { TransactionEnd } from '../../telemetry/work-end.ts';
import type { InboxTransactions } from '../inbox-transactions.ts';
import { type Middleware, throughAll } from '../middleware.ts';
import type { InboxMessage } from '../reading/inbox-message.ts';
import type { TransactionInHand } from '../route.ts';
import type { HandlingMetrics } from './handling-metrics.ts';

export interface HandlerTransactionsOptions<Tx extends Transaction> {
  readonly client: InboxTransactions<Tx>;
  readonly group: string;
  readonly metrics?: HandlingMetrics | undefined;
  /** Outermost first. */
  readonly middlewares: readonly Middleware[];
  /** Fires at the deadline of a stop. */
  readonly deadline: AbortSignal;
}

/** A message to be handled. */
interface Handed {
  readonly message: InboxMessage<unknown>;
}

/** The transaction failed after it was given up, so its messages may be fine. */
export class GivenUp extends Error {}

/** After the deadline of a stop, handlers that observe their signal get this long to end. */
const graceMs = 500;

/** Runs handlers in transactions, inside all middlewares, with a signal that fires when a transaction is given up. */
export class HandlerTransactions<Tx extends Transaction> {
  readonly #options: HandlerTransactionsOptions<Tx>;
  readonly #open = new Set<Handling>();

  constructor(options: HandlerTransactionsOptions<Tx>) {
    this.#options = options;
    options.deadline.addEventListener('abort', () => this.#passDeadline());
  }

  /** Number of open transactions. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * @param messages for which handlers may be called; if empty, no middleware is called either
   * @param lost fires when the partition moves to another consumer; `undefined` for messages without a partition
   * @param committed called after the commit, still inside the middlewares; when it rejects, so does this
   * @throws {@link GivenUp} for every failure after `lost` or the deadline has fired; otherwise what a middleware, the
   * client or `work` throws
   */
  async run<Result>(
    messages: readonly Handed[],
    lost: AbortSignal | undefined,
    work: (tx: Tx, context: TransactionInHand) => Promise<Result>,
    committed?: () => Promise<void>,
  ): Promise<Result> {
    const { deadline, group, metrics, middlewares } = this.#options;
    const startedAt = performance.now();
    const measure = (error?: unknown): void => {
      const [first] = messages;
      if (first !== undefined) metrics?.processed(first.message.topic, performance.now() - startedAt, error);
    };
    const inside = async (): Promise<Result> => {
      const handling = new Handling(this.#options.client.limits.statementMs, lost);
      try {
        const result = await this.#transaction(handling, work);
        await committed?.();
        handling.outcome.end(undefined);
        metrics?.tried(handling.tries);
        return result;
      } catch (thrown) {
        const error = readable(thrown);
        handling.outcome.end({ error });
        metrics?.tried(handling.tries, { error });
        throw error;
      }
    };
    try {
      const [first, ...others] = middlewares.length === 0 ? [] : messages.map(({ message }) => message);
      const result =
        first === undefined
          ? await inside()
          : await throughAll(middlewares, { group, messages: [first, ...others] }, inside);
      measure();
      return result;
    } catch (thrown) {
      const error = readable(thrown);
      measure(error);
      if (lost?.aborted !== true && !deadline.aborted) throw error;
      throw new GivenUp('The transaction was given up.', { cause: error });
    }
  }

  async #transaction<Result>(
    handling: Handling,
    work: (tx: Tx, context: TransactionInHand) => Promise<Result>,
  ): Promise<Result> {
    const { client, deadline } = this.#options;
    if (deadline.aborted) throw stopped();
    this.#open.add(handling);
    try {
      return await Promise.race([
        client.$transaction((tx) => {
          handling.begin();
          return withItsWrites(tx, () => work(tx, handling));
        }),
        handling.abandoned,
      ]);
    } finally {
      this.#open.delete(handling);
      handling.end();
    }
  }

  #passDeadline(): void {
    for (const handling of this.#open) handling.giveUp(stopped());
    startTimer(() => {
      for (const handling of this.#open) handling.abandon(stopped());
    }, graceMs);
  }
}

/** One transaction in which handlers run. */
class Handling implements TransactionInHand {
  readonly outcome = new TransactionEnd();
  /** Messages that handlers were given, by topic. */
  readonly tries = new Map<string, number>();
  /** Rejects when the consumer stops waiting for the transaction, even if the handler goes on. */
  readonly abandoned: Promise<never>;
  readonly #limitMs: number;
  readonly #lost: AbortSignal | undefined;
  #abandon: (reason: OutboxError) => void = () => undefined;
  #begunAtMs = 0;
  #ended = false;
  /** Created on demand: few handlers use the signal. */
  #controller: AbortController | undefined;
  #givenUp: OutboxError | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs how long the transaction may take */
  constructor(limitMs: number, lost: AbortSignal | undefined) {
    this.#limitMs = limitMs;
    this.#lost = lost;
    this.abandoned = new Promise((_, reject) => {
      this.#abandon = reject;
    });
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#ended) return controller.signal;
    if (this.#lost?.aborted === true) this.giveUp(elsewhere());
    if (this.#givenUp !== undefined) {
      controller.abort(this.#givenUp);
      return controller.signal;
    }
    if (this.#lost !== undefined) {
      // One listener per message of the partition in progress.
      setMaxListeners(0, this.#lost);
      this.#lost.addEventListener('abort', this.#onLost, { once: true });
    }
    const leftMs = this.#limitMs - (performance.now() - this.#begunAtMs);
    this.#timer = startTimer(() => this.giveUp(tooLong(this.#limitMs)), Math.max(0, leftMs));
    return controller.signal;
  }

  /** To be called when the transaction has a connection: its time limit starts here. */
  begin(): void {
    this.#begunAtMs = performance.now();
    this.outcome.begin();
  }

  tried(topic: string, count: number): void {
    this.tries.set(topic, (this.tries.get(topic) ?? 0) + count);
  }

  giveUp(reason: OutboxError): void {
    if (this.#ended) return;
    this.#givenUp ??= reason;
    this.#controller?.abort(this.#givenUp);
  }

  abandon(reason: OutboxError): void {
    this.#abandon(reason);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#lost?.removeEventListener('abort', this.#onLost);
  }

  readonly #onLost = (): void => this.giveUp(elsewhere());
}

function tooLong(limitMs: number): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_STUCK',
    `The transaction of the handler has reached its limit of ${limitMs / 1_000} s and is rolled back.`,
    { details: { limitMs } },
  );
}

function elsewhere(): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_GIVEN_UP',
    'The partition of the message went to another consumer, which handles it.',
  );
}

function stopped(): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_GIVEN_UP',
    'The consumer stops, and the time that it had for that is over.',
  );
}
