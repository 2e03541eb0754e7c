import type { IncomingBatch } from '../../brokers/source.ts';
import { rest } from '../../core/rest.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { Applied } from '../applied.ts';
import { type Arrived, keyedOf, positionOf } from '../handling/arrived.ts';
import { attemptFailed } from '../handling/attempt-failed.ts';
import { keyNameOf } from '../handling/breaker.ts';
import { GivenUp } from '../handling/handler-transactions.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';
import { delaysOf } from '../route-delays.ts';
import { verdictOf } from '../verdict.ts';
import type { IntakeContext } from './intake-context.ts';
import type { Outcomes } from './outcomes.ts';

/** `probe`: once, because its address is paused. `killed`: not at all, because it has killed its consumers. */
type How = 'go' | 'probe' | 'killed';

/** When work on a partition must end. */
type Ends = Pick<IncomingBatch, 'lost' | 'signal'>;

/** The outcome of one message. */
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
  readonly #context: IntakeContext<Tx>;
  readonly #outcomes: Outcomes<Tx>;

  constructor(context: IntakeContext<Tx>, outcomes: Outcomes<Tx>) {
    this.#context = context;
    this.#outcomes = outcomes;
  }

  /** Whether a further message of the batch may begin. */
  mayBegin(batch: IncomingBatch): boolean {
    return batch.mayBegin() && !this.#context.breaker.isPaused(batch.address);
  }

  /** Handles a message, and acknowledges or rejects it. @returns false when nothing further may begin */
  async handle(batch: IncomingBatch, message: Arrived<Tx>, how: How): Promise<boolean> {
    const settled = await this.#settled(message, batch, how);
    if (settled.kind === 'rejected') batch.reject(message.incoming, settled.afterMs);
    if (settled.kind !== 'done') return false;
    this.#outcomes.end(batch, message, settled.applied);
    await this.#outcomes.note([message], [settled.applied]);
    return true;
  }

  async #settled(message: Arrived<Tx>, { lost, signal }: Ends, how: How): Promise<Settled> {
    if (how === 'killed')
      return this.#park(message, how, new Error('Its consumer has died of it, again and again.'));
    const { applier, breaker, rules } = this.#context;
    const { address } = message.incoming;
    const quickRetriesMs =
      how === 'probe' ? [] : delaysOf('quickRetriesMs', message.route, rules.quickRetriesMs);
    let conflicts = 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const [applied = duplicate] = await applier.apply([message], attempt, lost);
        if (applied.kind === 'handled' && breaker.watches(address))
          breaker.succeeded(address, keyNameOf(message), how);
        if (applied.kind === 'expired' && how === 'probe') breaker.probeVoid(address);
        return { kind: 'done', applied };
      } catch (error) {
        if (error instanceof GivenUp) return { kind: 'given-up' };
        attemptFailed(this.#context, keyedOf(message), attempt, error);
        // A verdict is about the message, and says nothing about a dependency.
        if (verdictOf(error) !== undefined) return this.#park(message, 'error', error);
        let pauseMs = quickRetriesMs[attempt - 1];
        if (how === 'go' && faultOf(error) === 'conflict' && conflicts < maxConflicts) {
          conflicts += 1;
          attempt -= 1;
          pauseMs = Math.random() * longestConflictPauseMs;
        }
        if (pauseMs === undefined) return this.#exhausted(message, error, how);
        await rest(pauseMs, signal);
        if (signal.aborted) return { kind: 'given-up' };
      }
    }
  }

  #exhausted(message: Arrived<Tx>, error: unknown, how: 'go' | 'probe'): Promise<Settled> | Settled {
    const { breaker } = this.#context;
    const { address, body } = message.incoming;
    const failure = { error, bodies: [body] };
    if (how === 'probe') breaker.probeFailed(address, failure);
    else if (!breaker.failed(address, keyNameOf(message), failure))
      return this.#park(message, 'error', error);
    return { kind: 'rejected', afterMs: breaker.waitMs(address) };
  }

  /** Keeps the message for later, so that those of other keys go on. */
  async #park(message: Arrived<Tx>, cause: 'error' | 'killed', error: unknown): Promise<Settled> {
    try {
      return { kind: 'done', applied: await this.#context.applier.keep(message, cause, error) };
    } catch (unkept) {
      const afterMs = this.#context.failing.pause(positionOf(message), message.topic, unkept);
      return { kind: 'rejected', afterMs };
    }
  }
}
