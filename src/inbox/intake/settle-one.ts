import type { IncomingBatch } from '../../brokers/source.ts';
import { rest } from '../../core/rest.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { Applied } from '../applied.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import { type Arrived, positionOf } from '../handling/arrived.ts';
import { attemptFailed } from '../handling/attempt-failed.ts';
import { keyNameOf } from '../handling/breaker.ts';
import { GivenUp } from '../handling/handler-transactions.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';
import { delaysOf } from '../route-delays.ts';
import type { ToldFailure } from '../told-error.ts';
import { verdictOf } from '../verdict.ts';
import type { Applier } from './applier.ts';
import type { FailingPartitions } from './failing-partitions.ts';
import type { Outcomes } from './outcomes.ts';

type SingleContext<Tx extends Transaction> = Pick<
  ConsumerContext<Tx>,
  'breaker' | 'report' | 'rules' | 'tally'
>;

/** When work on a partition must end. */
type Ends = Pick<IncomingBatch, 'lost' | 'signal'>;

/** What became of one message. */
type Settled =
  | { readonly kind: 'done'; readonly applied: Applied }
  /** The partition is lost, or this consumer stops: the message stays open, and no try is counted. */
  | { readonly kind: 'given-up' }
  /** The message stays open: the database could not keep it either, or its address is paused. */
  | { readonly kind: 'rejected'; readonly afterMs: number };

const duplicate: Applied = { kind: 'duplicate' };

/** Consecutive conflicts that are retried; the next one counts as an ordinary failure. */
const maxConflicts = 10;
const longestConflictPauseMs = 50;

/** Applies single messages: after some quick tries the message is parked, unless its address is paused. */
export class OneByOne<Tx extends Transaction> {
  readonly #context: SingleContext<Tx>;
  readonly #applier: Applier<Tx>;
  readonly #failing: FailingPartitions;
  readonly #outcomes: Outcomes<Tx>;

  constructor(
    context: SingleContext<Tx>,
    parts: {
      readonly applier: Applier<Tx>;
      readonly failing: FailingPartitions;
      readonly outcomes: Outcomes<Tx>;
    },
  ) {
    this.#context = context;
    this.#applier = parts.applier;
    this.#failing = parts.failing;
    this.#outcomes = parts.outcomes;
  }

  /** Whether a further message of the batch may begin. */
  mayBegin(batch: IncomingBatch): boolean {
    return batch.mayBegin() && !this.#context.breaker.isPaused(batch.address);
  }

  /**
   * Handles a message, and acknowledges or rejects it.
   *
   * @param how `probe`: once, because its address is paused; `killed`: not at all, because its consumers have died of it
   * @returns false when nothing further may begin
   */
  async handle(
    batch: IncomingBatch,
    message: Arrived<Tx>,
    how: 'settle' | 'probe' | 'killed',
  ): Promise<boolean> {
    const settled = await this.#settled(batch, message, how);
    if (settled.kind === 'rejected') batch.reject(message.incoming, settled.afterMs);
    if (settled.kind !== 'done') return false;
    this.#outcomes.end(batch, message, settled.applied);
    await this.#outcomes.note([message], [settled.applied]);
    return true;
  }

  #settled(batch: IncomingBatch, message: Arrived<Tx>, how: 'settle' | 'probe' | 'killed'): Promise<Settled> {
    if (how === 'settle') return this.#settle(message, batch);
    if (how === 'probe') return this.#probe(message, batch);
    return this.#park(message, 'killed', new Error('Its consumer has died of it, again and again.'));
  }

  async #settle(message: Arrived<Tx>, { lost, signal }: Ends): Promise<Settled> {
    const { breaker } = this.#context;
    const { address } = message.incoming;
    const quickRetriesMs = delaysOf('quickRetriesMs', message.way, this.#context.rules.quickRetriesMs);
    let conflicts = 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const [applied = duplicate] = await this.#applier.apply([message], attempt, lost);
        if (applied.kind === 'handled' && breaker.watches(address))
          breaker.succeeded(address, keyNameOf(message));
        return { kind: 'done', applied };
      } catch (error) {
        if (error instanceof GivenUp) return { kind: 'given-up' };
        attemptFailed(this.#context, positionOf(message), attempt, error);
        if (verdictOf(error) !== undefined) return this.#park(message, 'error', error);
        let pauseMs = quickRetriesMs[attempt - 1];
        if (faultOf(error) === 'conflict' && conflicts < maxConflicts) {
          conflicts += 1;
          attempt -= 1;
          pauseMs = Math.random() * longestConflictPauseMs;
        }
        if (pauseMs === undefined) return this.#exhausted(message, error);
        await rest(pauseMs, signal);
        if (signal.aborted) return { kind: 'given-up' };
      }
    }
  }

  /** Tries a message of a paused address once: the result ends or prolongs the pause. */
  async #probe(message: Arrived<Tx>, { lost }: Ends): Promise<Settled> {
    const { breaker } = this.#context;
    const { address } = message.incoming;
    try {
      const [applied = duplicate] = await this.#applier.apply([message], 1, lost);
      if (applied.kind === 'handled') breaker.succeeded(address, keyNameOf(message), 'probe');
      return { kind: 'done', applied };
    } catch (error) {
      if (error instanceof GivenUp) return { kind: 'given-up' };
      attemptFailed(this.#context, positionOf(message), 1, error);
      // A verdict is about the message, and says nothing about the dependency.
      if (verdictOf(error) !== undefined) return await this.#park(message, 'error', error);
      breaker.probeFailed(address, failureOf(message, error));
      return { kind: 'rejected', afterMs: breaker.waitMs(address) };
    }
  }

  #exhausted(message: Arrived<Tx>, error: unknown): Promise<Settled> | Settled {
    const { breaker } = this.#context;
    const { address } = message.incoming;
    if (breaker.failed(address, keyNameOf(message), failureOf(message, error)))
      return { kind: 'rejected', afterMs: breaker.waitMs(address) };
    return this.#park(message, 'error', error);
  }

  /** Keeps the message for later, so that those of other keys go on. */
  async #park(message: Arrived<Tx>, cause: 'error' | 'killed', error: unknown): Promise<Settled> {
    try {
      return { kind: 'done', applied: await this.#applier.keep(message, cause, error) };
    } catch (unkept) {
      const afterMs = this.#failing.pause(positionOf(message), message.topic, unkept);
      return { kind: 'rejected', afterMs };
    }
  }
}

function failureOf<Tx>({ incoming: { body } }: Arrived<Tx>, error: unknown): ToldFailure {
  return { error, bodies: [body] };
}
