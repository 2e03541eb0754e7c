import type { KeptState } from '../../core/parked-states.ts';
import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import type { RoundOptions } from '../message/change-messages.ts';

/**
 * - `too-late`: its state does not, or no longer, allow the change, or it was handled.
 * - `behind-key`: an earlier message of its key must go first.
 * - `unknown`: the group never received it, or its window is over.
 * - `busy`: it is being tried, or another operator holds its key; nothing was done.
 */
export type KeptRefusal = 'too-late' | 'behind-key' | 'unknown' | 'busy';

/** The database's answer about one message. */
export interface KeptChanged<Result extends string> {
  readonly id: string;
  readonly result: Result | KeptRefusal | 'handled';
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** Conditions that a message must meet when it is locked, else it is `too-late`. Omitted ones are not checked. */
export interface KeptCondition {
  readonly states?: readonly KeptState[];
  readonly reason?: string;
}

/** The last two parameters of `outbox.retry_kept` and `outbox.discard_kept`. */
export function conditionValues({ states, reason }: KeptCondition): readonly unknown[] {
  return [states === undefined ? null : [...states], reason ?? null];
}

/** One kind of change of kept messages by an operator. */
export interface KeptChange<Result extends string> {
  /** Its name in the audit. */
  readonly action: string;
  /** Changes each by a compare-and-set under the lock of its key; locked ones are answered `busy`. */
  apply(
    sql: Sql,
    group: string,
    ids: readonly string[],
    condition: KeptCondition,
  ): Promise<readonly KeptChanged<Result>[]>;
}

/** The result for one kept message. */
export interface KeptAnswer<Result extends string = never> {
  /** Id of the message, as given. */
  readonly id: string;
  /** Name of its topic; `null`: the group does not keep it. */
  readonly topic: string | null;
  /** Its key; `null`: it has none, or the group does not keep it. */
  readonly key: string | null;
  /** What was done, or why nothing was. */
  readonly result: Result | KeptRefusal;
  /** Its state afterwards. `handled`: no longer kept, its effects are committed. `null`: unknown. */
  readonly state: KeptState | 'handled' | null;
}

/** What one transaction did. */
export interface KeptRound<Result extends string> {
  readonly answers: readonly KeptAnswer<Result>[];
  /** Locked by others; neither answered nor audited, unless this was the last round. */
  readonly busy: readonly string[];
}

/**
 * Changes messages that a group keeps, with one audit entry per answered message in the same transaction. It does not wait
 * for locks of handlers or other operators.
 *
 * @param ids at most {@link messagesPerTransaction}, each once
 */
export async function changeKept<Result extends string>(
  database: Database,
  group: string,
  ids: readonly string[],
  change: KeptChange<Result>,
  author: Author,
  { last, dryRun }: RoundOptions,
): Promise<KeptRound<Result>> {
  return transactOrRehearse(database, dryRun, (sql) =>
    changeLockedKept(sql, { group, ids, change, condition: {} }, author, last),
  );
}

/** A change of messages of one group. */
export interface AskedKeptChange<Result extends string> {
  readonly group: string;
  readonly ids: readonly string[];
  readonly change: KeptChange<Result>;
  readonly condition: KeptCondition;
}

/**
 * What {@link changeKept} does, in a transaction that does more.
 *
 * @param last as in {@link RoundOptions}
 */
export async function changeLockedKept<Result extends string>(
  sql: Sql,
  { group, ids, change, condition }: AskedKeptChange<Result>,
  author: Author,
  last: boolean,
): Promise<KeptRound<Result>> {
  const changed = await change.apply(sql, group, ids, condition);
  const decided = changed.filter(({ result }) => last || result !== 'busy');
  const standing = await readStanding(sql, group, ids);
  const answers = decided.map(({ id, result }): KeptAnswer<Result> => {
    const {
      topic = null,
      key = null,
      state = result === 'handled' ? 'handled' : null,
    } = standing.get(id) ?? {};
    return { id, topic, key, state, result: result === 'handled' ? 'too-late' : result };
  });
  await writeAudit(
    sql,
    answers.map(({ id, topic, result }, n) => ({
      ...author,
      action: change.action,
      messageId: null,
      kept: { group, id },
      topic,
      result,
      details: decided[n]?.details ?? undefined,
    })),
  );
  const answered = new Set(decided);
  return { answers, busy: changed.filter((one) => !answered.has(one)).map(({ id }) => id) };
}

interface KeptStanding {
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly state: KeptState;
}

async function readStanding(
  sql: Sql,
  group: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KeptStanding>> {
  const rows = await sql.query<KeptStanding>(
    `select message_id as id, topic, key, state from outbox.parked
     where consumer_group = $1 and message_id = any($2::text[])`,
    [group, [...ids]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
