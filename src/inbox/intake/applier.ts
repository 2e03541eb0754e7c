import { passCrashPoint } from '../../core/crash-point.ts';
import { readable } from '../../core/reason.ts';
import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { park } from '../../store/inbox/park.ts';
import { noteExpired, readProcessed } from '../../store/inbox/processed.ts';
import { type Arrival, noteArrivals } from '../../store/inbox/receive.ts';
import { spans } from '../../telemetry/spans.ts';
import type { Applied } from '../applied.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { Arrived } from '../handling/arrived.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';
import { type Keeping, keptOf } from '../handling/kept.ts';
import { CommitProof, refuseSwallowedError } from '../handling/swallowed-error.ts';
import { isExpired } from '../reading/expiry.ts';
import { type RefusalReason, refusalReasonOf } from '../reading/unreadable.ts';
import type { ReadyMessage, Route, TransactionInHand } from '../route.ts';
import { delaysOf } from '../route-delays.ts';
import { verdictOf } from '../verdict.ts';

/** A message of the batch blocks its key for later messages, so the batch must be applied one message at a time. */
export class BlocksKey extends Error {}

/** What is kept of an error that cannot be recorded. */
const unrecorded = 'Its error cannot be recorded.';

/** A message that can be handled, or why it is not. */
type Prepared<Tx> =
  | ReadyMessage<Tx>
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'expired' };

/**
 * Applies messages of one partition, each with effect once: message ids and handler writes commit in one transaction.
 */
export class Applier<Tx extends Transaction> {
  readonly #context: ConsumerContext<Tx>;

  constructor(context: ConsumerContext<Tx>) {
    this.#context = context;
  }

  /**
   * Applies messages in one transaction. Messages of a parked key are parked behind it; unreadable ones are stored as
   * failed; of expired ones only the id is stored.
   *
   * Rejects when a handler or the database fails, and with {@link BlocksKey} when they must be applied one at a time;
   * nothing is committed then.
   *
   * @param lost see `HandlerTransactions.run`
   */
  async apply(
    messages: readonly Arrived<Tx>[],
    attempt: number,
    lost: AbortSignal,
  ): Promise<readonly Applied[]> {
    const prepared: Prepared<Tx>[] = [];
    for (const message of messages) {
      const one = prepare(message, attempt);
      // Awaits only asynchronous schemas: a microtask per message would cost throughput.
      prepared.push(one instanceof Promise ? await one : one);
    }
    const { client, handlers, rules } = this.#context;
    const { group } = rules;
    if (messages.length > 1 && rules.tries.blockKey && prepared.some(({ kind }) => kind === 'refused'))
      throw new BlocksKey();
    const ready = prepared.filter((one) => one.kind === 'ready');
    let doubt: { readonly proof: CommitProof; readonly id: string } | undefined;
    const work = async (tx: Tx, context: TransactionInHand): Promise<readonly Applied[]> => {
      doubt = undefined;
      const sql = sqlOf(tx);
      const proof = client.checksCommits ? undefined : CommitProof.of(tx);
      const arrivals = await noteArrivals(sql, group, messages, client.limits);
      await this.#keep({ sql, context }, messages, prepared, arrivals);
      const dropped = messages.filter((_, n) => prepared[n]?.kind === 'expired' && arrivals[n] === 'new');
      await noteExpired(
        sql,
        group,
        dropped.map(({ id }) => id),
      );
      const handled = await handleNew({ tx, context }, messages, prepared, arrivals);
      if (handled !== undefined && proof !== undefined) doubt = { proof, id: handled };
      else if (handled !== undefined && !client.checksCommits) await refuseSwallowedError(sql);
      passCrashPoint('inbox:handled');
      return allApplied(messages, prepared, arrivals);
    };
    const applied = await handlers.run(ready, lost, work, () => this.#proved(doubt));
    passCrashPoint('inbox:committed');
    return applied;
  }

  /**
   * Keeps a message whose tries have failed: parks it, or stores it as failed when no further try is allowed, for
   * example because it has repeatedly killed its consumer. If it cannot be kept, and the database can be used, what it
   * throws may be to blame: it is kept without the text of the error, because its partition would wait for ever.
   */
  async keep(message: Arrived<Tx>, cause: 'error' | 'killed', error: unknown): Promise<Applied> {
    try {
      return await this.#keepOne(message, cause, error);
    } catch (unkept) {
      if (faultOf(unkept) !== undefined) throw unkept;
      return this.#keepOne(message, cause, error, unrecorded);
    }
  }

  async #keepOne(
    message: Arrived<Tx>,
    cause: 'error' | 'killed',
    error: unknown,
    text?: string,
  ): Promise<Applied> {
    passCrashPoint('inbox:parking');
    const { client, rules } = this.#context;
    const { group, tries } = rules;
    const verdict = verdictOf(error);
    const [firstMs] = delaysOf('retryMs', message.route, tries.retryMs);
    // A database fault always leaves another try.
    const last =
      cause === 'killed' ||
      verdict?.kind === 'permanent' ||
      (firstMs === undefined && faultOf(error) === undefined);
    const keeping: Keeping = {
      state: last ? 'failed' : 'parked',
      cause: verdict?.kind === 'permanent' ? 'permanent' : cause,
      error,
      text,
    };
    const retryInMs = verdict?.kind === 'retry-after' ? verdict.inMs : (firstMs ?? 0);
    const applied = await client.$transaction(async (tx): Promise<Applied> => {
      const sql = sqlOf(tx);
      const [arrival = 'new'] = await noteArrivals(sql, group, [message], client.limits);
      if (arrival === 'processed') return duplicate;
      if (arrival === 'kept') return kept;
      const state = arrival === 'behind' && cause !== 'killed' ? 'parked' : keeping.state;
      await park(sql, group, [keptOf(message, { ...keeping, state }, tries.blockKey)], retryInMs);
      passCrashPoint('inbox:park-written');
      return state === 'failed'
        ? { kind: 'failed', reason: keeping.cause, error }
        : { kind: 'parked', error };
    });
    passCrashPoint('inbox:parked');
    return applied;
  }

  async #proved(doubt: { readonly proof: CommitProof; readonly id: string } | undefined): Promise<void> {
    const { client, rules } = this.#context;
    await doubt?.proof.require(async () => {
      const found = await client.$transaction((tx) => readProcessed(sqlOf(tx), rules.group, [doubt.id]));
      return found.size > 0;
    });
  }

  async #keep(
    { sql, context }: { readonly sql: Sql; readonly context: TransactionInHand },
    messages: readonly Arrived<Tx>[],
    prepared: readonly Prepared<Tx>[],
    arrivals: readonly Arrival[],
  ): Promise<void> {
    const { group, tries } = this.#context.rules;
    for (const [n, { id, incoming, route }] of messages.entries()) {
      if (arrivals[n] !== 'behind' || route.kind !== 'route') continue;
      const message = { id, headers: incoming.headers };
      await spans.park(route.processor, { message, incoming }, context.outcome);
    }
    // None of them makes a key that waits for a time: a key is there already, or is blocked.
    const toKeep = messages.flatMap((message, n) => {
      const keeping = keepingOf(arrivals[n], prepared[n]);
      return keeping === undefined ? [] : [keptOf(message, keeping, tries.blockKey)];
    });
    if (toKeep.length > 0) await park(sql, group, toKeep);
  }
}

function prepare<Tx>(
  { incoming, route }: Arrived<Tx>,
  attempt: number,
): Prepared<Tx> | Promise<Prepared<Tx>> {
  if (route.kind === 'refused') return route;
  if (isExpired(incoming)) return expired;
  try {
    const read = route.read(incoming, attempt);
    return read instanceof Promise ? read.catch(refused<Tx>) : read;
  } catch (error) {
    return refused(error);
  }
}

/** Unreadable messages are refused; other errors, for example of a schema that calls a server, are retried. */
function refused<Tx>(thrown: unknown): Prepared<Tx> {
  const error = readable(thrown);
  if (refusalReasonOf(error) === undefined) throw error;
  return { kind: 'refused', error };
}

function keepingOf<Tx>(
  arrival: Arrival | undefined,
  prepared: Prepared<Tx> | undefined,
): Keeping | undefined {
  if (arrival === 'behind') return { state: 'parked', cause: 'behind', error: undefined };
  if (arrival !== 'new' || prepared?.kind !== 'refused') return undefined;
  const { error } = prepared;
  return { state: 'failed', cause: causeOf(error), error };
}

function causeOf(error: unknown): RefusalReason | 'error' {
  return refusalReasonOf(error) ?? 'error';
}

/** Shared, because nearly every message has this result. */
const handled: Applied = { kind: 'handled' };
const duplicate: Applied = { kind: 'duplicate' };
const kept: Applied = { kind: 'kept' };
const parked: Applied = { kind: 'parked' };
const expired = { kind: 'expired' } as const;

function appliedOf<Tx>(arrival: Arrival, prepared: Prepared<Tx> | undefined): Applied {
  if (arrival === 'behind') return parked;
  if (arrival === 'processed') return duplicate;
  if (arrival === 'kept') return kept;
  if (prepared?.kind === 'expired') return expired;
  if (prepared?.kind !== 'refused') return handled;
  const { error } = prepared;
  return { kind: 'failed', reason: causeOf(error), error };
}

/** A repeat within the transaction gets the result of the first: if that was kept, so is the repeat. */
function allApplied<Tx>(
  messages: readonly Arrived<Tx>[],
  prepared: readonly Prepared<Tx>[],
  arrivals: readonly Arrival[],
): readonly Applied[] {
  const keptIds = new Set<string>();
  return arrivals.map((arrival, n) => {
    const id = messages[n]?.id ?? '';
    const applied = appliedOf(arrival, prepared[n]);
    if (applied.kind === 'parked' || applied.kind === 'failed') keptIds.add(id);
    return applied === duplicate && keptIds.has(id) ? kept : applied;
  });
}

/** Calls the handlers of new messages; order is kept per topic only. @returns the id of one of them, if there were any */
async function handleNew<Tx>(
  { context, tx }: { readonly tx: Tx; readonly context: TransactionInHand },
  messages: readonly Arrived<Tx>[],
  prepared: readonly Prepared<Tx>[],
  arrivals: readonly Arrival[],
): Promise<string | undefined> {
  const byRoute = new Map<Route<Tx>, ReadyMessage<Tx>[]>();
  for (const [n, { route }] of messages.entries()) {
    const one = prepared[n];
    if (route.kind === 'refused' || one?.kind !== 'ready' || arrivals[n] !== 'new') continue;
    const those = byRoute.get(route);
    if (those === undefined) byRoute.set(route, [one]);
    else those.push(one);
  }
  for (const [route, those] of byRoute) {
    if (route.batch) await route.handleAll(tx, those, context);
    else for (const ready of those) await ready.handle(tx, context);
  }
  const [first] = byRoute.values();
  return first?.[0]?.id;
}
