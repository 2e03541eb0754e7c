import type { State } from '../../core/transitions.ts';
import { type AuditEntry, type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';

/** Maximum number of messages that one transaction changes. */
export const messagesPerTransaction = 1_000;

/** A row that the current transaction has locked. */
export interface LockedMessage {
  readonly id: string;
  readonly topic: string;
  readonly lane: number;
  /** The stored state: a `ready` row may be published. */
  readonly state: State;
  readonly attempts: number;
  readonly sends: number;
}

/** The result of a change for one locked row. */
export interface Changed<Result extends string> {
  readonly id: string;
  /** `defer`: not decided here; nothing was written, and nothing is audited. */
  readonly result: Result | 'defer';
  readonly details?: Readonly<Record<string, unknown>>;
}

/** One kind of change by an operator. */
export interface MessageChange<Result extends string> {
  /** Its name in the audit. */
  readonly action: string;
  /** Runs before rows are locked, for locks that must be taken first. */
  readonly before?: (sql: Sql) => Promise<void>;
  /** A compare-and-set on locked rows. Rows that it does not return are answered `too-late`. */
  apply(sql: Sql, rows: readonly LockedMessage[]): Promise<readonly Changed<Result>[]>;
}

/**
 * - `too-late`: its state does not, or no longer, allow the change.
 * - `unknown`: no such message.
 * - `busy`: another transaction has locked it, or a relay is sending it; nothing was done.
 */
export type ChangeRefusal = 'too-late' | 'unknown' | 'busy';

/** The result for one message. */
export interface MessageAnswer<Result extends string = never> {
  /** UUID of the message, as given. */
  readonly id: string;
  /** Name of its topic; `null`: there is no such message. */
  readonly topic: string | null;
  /** Number of its lane, from 0; `null`: there is no such message. */
  readonly lane: number | null;
  /** What was done, or why nothing was. */
  readonly result: Result | ChangeRefusal;
  /** The state that operators see afterwards; `null`: there is no such message. */
  readonly state: State | null;
}

/** What one transaction did. */
export interface Round<Result extends string> {
  readonly answers: readonly MessageAnswer<Result>[];
  /** Locked by another transaction; neither answered nor audited, unless this was the last round. */
  readonly busy: readonly string[];
  readonly deferred: readonly LockedMessage[];
}

export interface RoundOptions {
  /** True: locked or deferred messages are answered as `busy`, instead of being left for another round. */
  readonly last: boolean;
  /** True: everything is rolled back at the end, and the answers say what would happen. */
  readonly dryRun: boolean;
}

interface Standing {
  readonly id: string;
  readonly topic: string;
  readonly lane: number;
  readonly state: State;
  readonly archived: boolean;
}

/**
 * Changes messages, each by a compare-and-set, with one audit entry per answered message in the same transaction. It does
 * not wait for locked rows: an open business transaction must neither block an operation nor deadlock with it.
 *
 * @param ids at most {@link messagesPerTransaction}, each once
 */
export async function changeMessages<Result extends string>(
  database: Database,
  ids: readonly string[],
  change: MessageChange<Result>,
  author: Author,
  { last, dryRun }: RoundOptions,
): Promise<Round<Result>> {
  return transactOrRehearse(database, dryRun, (sql) => changeLocked(sql, ids, change, author, last));
}

/**
 * What {@link changeMessages} does, in a transaction that does more.
 *
 * @param last as in {@link RoundOptions}
 */
export async function changeLocked<Result extends string>(
  sql: Sql,
  ids: readonly string[],
  change: MessageChange<Result>,
  author: Author,
  last: boolean,
): Promise<Round<Result>> {
  await change.before?.(sql);
  const locked = await lockMessages(sql, ids);
  const changed = new Map((await change.apply(sql, locked)).map((each) => [each.id, each]));
  const standing = new Map((await readStanding(sql, ids)).map((each) => [each.id, each]));
  const lockedIds = new Set(locked.map(({ id }) => id));
  const isBusy = (id: string): boolean => standing.get(id)?.archived === false && !lockedIds.has(id);
  const isDeferred = (id: string): boolean => !last && changed.get(id)?.result === 'defer';
  const decided = ids.filter((id) => !isDeferred(id) && (last || !isBusy(id)));
  const answers = decided.map((id): MessageAnswer<Result> => {
    const { topic = null, lane = null, state = null } = standing.get(id) ?? {};
    return { id, topic, lane, state, result: resultOf(id) };
  });
  await writeAudit(
    sql,
    answers.map((answer) => entryOf(answer, changed.get(answer.id)?.details)),
  );
  return {
    answers,
    busy: last ? [] : ids.filter(isBusy),
    deferred: locked.filter(({ id }) => isDeferred(id)),
  };

  function resultOf(id: string): Result | ChangeRefusal {
    const result = changed.get(id)?.result;
    if (result === 'defer') return 'busy';
    if (result !== undefined) return result;
    if (!standing.has(id)) return 'unknown';
    return isBusy(id) ? 'busy' : 'too-late';
  }

  function entryOf(answer: MessageAnswer<Result>, details: AuditEntry['details']): AuditEntry {
    const { id, topic, result } = answer;
    return { ...author, action: change.action, messageId: id, topic, result, details };
  }
}

/** Locks rows in the order of ids, and skips rows that others have locked. */
async function lockMessages(sql: Sql, ids: readonly string[]): Promise<readonly LockedMessage[]> {
  return sql.query<LockedMessage>(
    `select m.id, m.topic, m.lane, m.state::text as state, m.attempts, m.sends
     from outbox.message m where m.id = any($1::uuid[]) order by m.id for update skip locked`,
    [[...ids]],
  );
}

async function readStanding(sql: Sql, ids: readonly string[]): Promise<readonly Standing[]> {
  return sql.query<Standing>(
    `select a.id, a.topic, a.lane, a.state::text as state, a.archived_at is not null as archived
     from outbox.message_all a where a.id = any($1::uuid[])`,
    [[...ids]],
  );
}
