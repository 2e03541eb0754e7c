import { passCrashPoint } from '../../core/crash-point.ts';
import { readable } from '../../core/reason.ts';
import { rest } from '../../core/rest.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { noteExpired } from '../../store/inbox/processed.ts';
import {
  type BeginAnswer,
  beginTry,
  endTry,
  type FailAnswer,
  failTry,
  joinTry,
  returnTry,
  type TopicDelays,
} from '../../store/inbox/tries.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { KeyedMessage } from '../consumer-event.ts';
import { attemptFailed } from '../handling/attempt-failed.ts';
import { GivenUp } from '../handling/handler-transactions.ts';
import type { Receipts } from '../handling/receipts.ts';
import type { KeyDrains, ParkedKeyAnswer, StandInRules } from '../ports.ts';
import { refusalReasonOf } from '../reading/unreadable.ts';
import { delaysOf, topicDelaysOf } from '../route-delays.ts';
import type { RouteTable } from '../route-table.ts';
import { nudgeDeadLetters } from '../source-routes.ts';
import { verdictOf } from '../verdict.ts';
import { DrainPace } from './drain-pace.ts';
import { isFinal, judgeTry } from './failed-try.ts';
import {
  type Begun,
  callHandlers,
  findParked,
  keptAs,
  type ReadyTry,
  readParked,
  triedOf,
} from './parked-message.ts';
import { UncountedTries } from './uncounted-tries.ts';

/** Pause while a message is being added to the key, an operator holds it, or another suspect is in hand: all short. */
const busyPauseMs = 100;
const longestBusyMs = 2_000;

/**
 * Drains the queue of a parked key, in order. Messages are tried as if they had just arrived: many in one transaction
 * while that succeeds, one by one after a failure.
 *
 * A try counts when it begins. So a message that kills its process is not retried at once by the next process, and uses up
 * its tries like any other.
 */
export class KeyDrain<Tx extends Transaction> implements KeyDrains {
  readonly #context: ConsumerContext<Tx>;
  readonly #worker: string;
  /** Of every source: the source of a parked message is not stored. */
  readonly #routes: readonly RouteTable<Tx>[];
  readonly #topics: TopicDelays;
  readonly #uncounted: UncountedTries<Tx>;
  /** Of stand-ins that a workflow has ended: it goes on at their pace, so that no message is tried again together with others. */
  readonly #left = new Map<string, DrainPace>();

  /** @param worker as of `TryHand` */
  constructor(context: ConsumerContext<Tx>, worker: string) {
    const { rules, sourceRoutes } = context;
    this.#context = context;
    this.#worker = worker;
    this.#routes = sourceRoutes.map(({ lookup }) => lookup);
    const routes = sourceRoutes.flatMap((source) => source.routes);
    this.#topics = topicDelaysOf(routes, rules.tries.retryMs);
    this.#uncounted = new UncountedTries(context);
  }

  async drain(
    keyId: string,
    signal: AbortSignal,
    progress: () => void,
    standIn?: StandInRules,
  ): Promise<ParkedKeyAnswer> {
    const pace = this.#left.get(keyId) ?? new DrainPace();
    this.#left.delete(keyId);
    let busySince: number | undefined;
    while (!signal.aborted && standIn?.leave.aborted !== true) {
      progress();
      const answer = await this.#next(keyId, pace, signal);
      if (answer !== 'busy') {
        busySince = undefined;
        if (answer !== 'more') return answer;
        continue;
      }
      busySince ??= performance.now();
      if (standIn !== undefined || performance.now() - busySince > longestBusyMs)
        return { kind: 'waiting', inMs: 1_000 };
      await rest(busyPauseMs, signal);
    }
    if (standIn?.leave.aborted === true) this.#left.set(keyId, pace);
    return { kind: 'waiting', inMs: 0 };
  }

  /** Begins the next try, if it is due. */
  async #next(
    keyId: string,
    pace: DrainPace,
    signal: AbortSignal,
  ): Promise<ParkedKeyAnswer | 'more' | 'busy'> {
    const { suspects } = this.#context;
    const begun = await this.#begin(keyId, pace.size, false);
    if (begun.kind !== 'suspect') return this.#carryOut(keyId, begun, pace, signal);
    if (!suspects.take()) return 'busy';
    try {
      return await this.#carryOut(keyId, await this.#begin(keyId, 1, true), pace, signal);
    } finally {
      suspects.free();
    }
  }

  #begin(keyId: string, most: number, alone: boolean): Promise<BeginAnswer> {
    const { client, rules } = this.#context;
    const hand = { worker: this.#worker, most, alone };
    return client.$transaction((tx) => beginTry(sqlOf(tx), keyId, rules.tries, hand, this.#topics));
  }

  async #carryOut(
    keyId: string,
    begun: BeginAnswer,
    pace: DrainPace,
    signal: AbortSignal,
  ): Promise<ParkedKeyAnswer | 'more' | 'busy'> {
    if (begun.kind === 'busy' || begun.kind === 'suspect') return 'busy';
    if (begun.kind === 'wait') return { kind: 'waiting', inMs: begun.inMs };
    if (begun.kind === 'try') {
      const { message, others } = begun;
      const messages = [message, ...others] as const;
      const found = messages.map((one) => findParked(one, this.#routes));
      return this.#enter({ keyId, messages, found }, pace, signal);
    }
    if (begun.gaveUp !== null) this.#tellFailed({ id: begun.gaveUp }, 'killed', undefined);
    if (begun.kind === 'more') return 'more';
    return { kind: begun.kind === 'gone' ? 'drained' : 'blocked' };
  }

  /** If the address is paused, gives the try back or uses it as the probe. */
  async #enter(begun: Begun<Tx>, pace: DrainPace, signal: AbortSignal): Promise<ParkedKeyAnswer | 'more'> {
    const { keyId, messages } = begun;
    const [first] = messages;
    return this.#context.breaker.pass<ParkedKeyAnswer | 'more'>(
      first.address,
      (entry) => this.#try(begun, entry, pace, signal),
      () => this.#uncounted.giveBackPaused(keyId, first, signal),
    );
  }

  async #try(
    begun: Begun<Tx>,
    entry: 'go' | 'probe',
    pace: DrainPace,
    signal: AbortSignal,
  ): Promise<ParkedKeyAnswer | 'more'> {
    passCrashPoint('inbox:try-begun');
    const { messages } = begun;
    const [first] = messages;
    for (let quick = 0; ; quick += 1) {
      const startedAt = performance.now();
      try {
        const ended = await this.#apply(begun, quick);
        passCrashPoint('inbox:try-committed');
        if (ended === 'left') return { kind: 'waiting', inMs: 0 };
        pace.done(messages.length, performance.now() - startedAt);
        this.#uncounted.ended(begun, entry);
        await this.#handled(begun, quick);
        return ended === 'gone' ? { kind: 'drained' } : 'more';
      } catch (thrown) {
        const error = readable(thrown);
        if (error instanceof GivenUp) return this.#giveBack(begun);
        attemptFailed(this.#context, triedOf(begun), first.attempts + quick, error);
        if (messages.length > 1) {
          pace.failed(messages.length);
          const failure = { error, bodies: messages.map(({ body }) => body) };
          if (entry === 'probe') this.#context.breaker.probeFailed(first.address, failure);
          return this.#giveBack(begun);
        }
        const pauseMs = entry === 'go' ? this.#quickPauseMs(begun, quick, error) : undefined;
        if (pauseMs === undefined) {
          const inMs = this.#uncounted.pauseMsAfter(begun, entry, error);
          if (inMs === undefined) return this.#failed(begun, error);
          return this.#uncounted.giveBack(begun.keyId, first, inMs, signal);
        }
        await rest(pauseMs, signal);
        if (signal.aborted) return this.#giveBack(begun);
      }
    }
  }

  async #apply({ keyId, messages, found }: Begun<Tx>, quick: number): Promise<'left' | 'gone' | 'more'> {
    const tries: ReadyTry<Tx>[] = [];
    for (const [n, message] of messages.entries()) {
      if (found[n]?.expired !== true)
        tries.push(await readParked(message, found[n], message.attempts + quick));
    }
    const {
      client: { limits },
      handlers,
      rules: { group },
    } = this.#context;
    const ready = tries.map((one) => one.ready);
    return handlers.run(ready, undefined, async (tx, context) => {
      const sql = sqlOf(tx);
      if (!(await joinTry(sql, group, keyId, messages, this.#worker, limits))) return 'left';
      await callHandlers(tx, tries, context);
      passCrashPoint('inbox:try-handled');
      const ids = messages.map(({ id }) => id);
      await noteExpired(
        sql,
        group,
        ids.filter((_, n) => found[n]?.expired === true),
      );
      return endTry(sql, group, keyId, ids);
    });
  }

  async #giveBack({ keyId, messages: [first] }: Begun<Tx>): Promise<'more'> {
    const { client, rules } = this.#context;
    await client.$transaction((tx) => returnTry(sqlOf(tx), rules.group, keyId, first, 0));
    return 'more';
  }

  /** Pause before a quick retry on the first try of a message: it gets the same quick retries as one that has just arrived. */
  #quickPauseMs(
    { found, messages: [{ attempts }] }: Begun<Tx>,
    quick: number,
    error: unknown,
  ): number | undefined {
    if (attempts !== 1 || verdictOf(error) !== undefined || isFinal(refusalReasonOf(error))) return undefined;
    return delaysOf('quickRetriesMs', found[0]?.arrived.route, this.#context.rules.quickRetriesMs)[quick];
  }

  async #failed({ found, keyId, messages }: Begun<Tx>, error: unknown): Promise<ParkedKeyAnswer | 'more'> {
    passCrashPoint('inbox:try-failed');
    const {
      client,
      rules: { group, tries },
    } = this.#context;
    const { failed, retryMs } = judgeTry(messages[0], found[0]?.arrived.route, error, tries.retryMs);
    const { reason } = failed;
    const answer: FailAnswer = await client.$transaction((tx) =>
      failTry(sqlOf(tx), group, keyId, failed, { ...tries, retryMs }),
    );
    if (answer.kind === 'wait') return { kind: 'waiting', inMs: answer.inMs };
    if (answer.kind === 'busy') return { kind: 'waiting', inMs: 0 };
    passCrashPoint('inbox:given-up');
    this.#tellFailed(keptAs(messages[0], found[0]), reason, error);
    if (answer.kind === 'more') return 'more';
    return { kind: answer.kind === 'blocked' ? 'blocked' : 'drained' };
  }

  #tellFailed(
    message: Pick<KeyedMessage, 'id'> & Partial<KeyedMessage>,
    reason: string,
    error: unknown,
  ): void {
    const { report, sourceRoutes, tally } = this.#context;
    tally.count('failed', message.topic);
    report({ type: 'failed', ...message, reason, error });
    nudgeDeadLetters(sourceRoutes);
  }

  /** Counts and reports what was handled or has expired, and sends receipts. */
  async #handled({ messages, found }: Begun<Tx>, quick: number): Promise<void> {
    const { metrics, report, sourceRoutes, tally } = this.#context;
    metrics?.effects(found.flatMap((one) => (one === undefined || one.expired ? [] : [one.arrived])));
    const answering = new Set<Receipts>();
    for (const [n, { id, topic, address, partition, offset, attempts }] of messages.entries()) {
      const one = found[n];
      const ended = { id, topic, address, partition, offset };
      tally.count(one?.expired === true ? 'expired' : 'handled', topic);
      if (one?.expired === true) report({ type: 'expired', ...ended });
      else report({ type: 'handled', ...ended, attempt: attempts + quick });
      const receipts = sourceRoutes.find(({ lookup }) => lookup === one?.routes)?.receipts;
      if (one !== undefined && receipts?.answer(one.arrived, 'processed') === true) answering.add(receipts);
    }
    for (const receipts of answering) await receipts.flush();
  }
}
