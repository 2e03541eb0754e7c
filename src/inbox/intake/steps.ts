import type { IncomingBatch } from '../../brokers/source.ts';
import { rest } from '../../core/rest.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { Arrived } from '../handling/arrived.ts';
import type { Gathering } from './gathering.ts';
import type { IntakeContext } from './intake-context.ts';
import type { Outcomes } from './outcomes.ts';
import type { OneByOne } from './settle-one.ts';

/** The messages of a batch on their way to their handlers. */
export interface IntakeRound<Tx> {
  readonly batch: IncomingBatch;
  /** In the order of their offsets. */
  readonly messages: readonly Arrived<Tx>[];
  /** Their address is paused: only this one may begin. */
  readonly probe?: Arrived<Tx>;
}

/** `left`: some of the messages that were marked are left to a later offer. */
export type Went = 'through' | 'left';

export type Next<Tx> = (round: IntakeRound<Tx>) => Promise<Went>;

/** Passes messages on to the next step, and finishes others. */
export type Step<Tx> = (round: IntakeRound<Tx>, next: Next<Tx>) => Promise<Went>;

/** The steps in their order. A round without messages takes no further one. */
export function inSteps<Tx>(steps: readonly Step<Tx>[]): Next<Tx> {
  return steps.reduceRight<Next<Tx>>(
    (next, step) => async (round) => (round.messages.length === 0 ? 'through' : step(round, next)),
    async () => 'through',
  );
}

/** Passes on full batches, and what has waited long enough for one; the rest is offered again. */
export function fillBatches<Tx extends Transaction>(gathering: Gathering | undefined): Step<Tx> {
  return async (round, next) => {
    if (gathering === undefined) return next(round);
    const { batch, messages } = round;
    const ids = messages.map(({ id }) => id);
    const { now, againMs, holdMs = 0 } = gathering.gather(batch, ids);
    const went = now === 0 ? 'through' : await next({ ...round, messages: messages.slice(0, now) });
    if (holdMs > 0) await rest(holdMs, batch.signal);
    // Each of them, because where there is no order one that is open is offered again at once.
    if (batch.mayBegin()) for (const { incoming } of messages.slice(now)) batch.reject(incoming, againMs);
    return went;
  };
}

/** Ends messages that were committed or kept before. */
export function dropKnown<Tx extends Transaction>(
  { known }: IntakeContext<Tx>,
  outcomes: Outcomes<Tx>,
): Step<Tx> {
  return async ({ batch, messages }, next) => {
    const { processed, kept } = await known.find(messages.map(({ id }) => id));
    if (processed.size + kept.size === 0) return next({ batch, messages });
    const isNew = (message: Arrived<Tx>): boolean => {
      if (!processed.has(message.id) && !kept.has(message.id)) return true;
      outcomes.end(batch, message, { kind: kept.has(message.id) ? 'kept' : 'duplicate' });
      return false;
    };
    return next({ batch, messages: messages.filter(isNew) });
  };
}

/** Passes on what is before the first message whose queue is full, which pauses its partition afterwards. */
export function waitForQueues<Tx extends Transaction>({ failing, queues }: IntakeContext<Tx>): Step<Tx> {
  return async ({ batch, messages }, next) => {
    const free = await queues.free(messages);
    const went = await next({ batch, messages: free });
    const full = messages[free.length];
    if (full !== undefined && batch.mayBegin()) queues.pause(batch, full, failing);
    return went;
  };
}

/** While the address is paused, passes on one message as the probe, or none. */
export function askBreaker<Tx extends Transaction>({ breaker }: IntakeContext<Tx>): Step<Tx> {
  return async ({ batch, messages }, next) => {
    const [first] = messages;
    if (first === undefined || !batch.mayBegin()) return 'through';
    const { address } = batch;
    return breaker.pass<Went>(
      address,
      (entry) => {
        if (entry === 'go') return next({ batch, messages });
        return next({ batch, messages, probe: breaker.choose(address, messages) ?? first });
      },
      (ms) => {
        batch.reject(first.incoming, ms);
        return 'through';
      },
    );
  };
}

/** Marks messages as in hand. Those that may have killed a consumer go no further: they are handled here, one at a time. */
export function mark<Tx extends Transaction>({ marks }: IntakeContext<Tx>, oneByOne: OneByOne<Tx>): Step<Tx> {
  /** Until none is left that may have killed a consumer: the rest is offered again, no longer under suspicion. */
  const searchKiller = async ({ batch, messages, probe }: IntakeRound<Tx>): Promise<void> => {
    const how = probe === undefined ? 'go' : 'probe';
    for (const message of messages) {
      if (how === 'go' && !oneByOne.mayBegin(batch)) return;
      const harmless = await marks.beginOne(batch, message.id);
      if (!(await oneByOne.handle(batch, message, harmless ? how : 'killed'))) return;
      if (how === 'probe' || !marks.endOne(batch, message.id)) return;
    }
  };
  return async (round, next) => {
    const { batch, messages, probe } = round;
    const begun = probe === undefined ? messages : [probe];
    const ids = begun.map(({ id }) => id);
    const unsuspected = await marks.begin(batch, ids);
    const went = unsuspected ? await next({ ...round, messages: begun }) : 'left';
    if (!unsuspected) await searchKiller({ ...round, messages: begun });
    if (went === 'left') await marks.leave(batch);
    return went;
  };
}
