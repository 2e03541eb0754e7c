import type { KeptState } from '../../core/parked-states.ts';
import type { Change } from '../audit/audit.ts';
import { jsonCell, orNull, readRows, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import type { Expunged } from '../message/expunge.ts';

/**
 * - `too-late`: its state does not, or no longer, allow the change, or it was handled.
 * - `behind-key`: an earlier message of its key must go first.
 * - `unknown`: the group never received it, or its window is over.
 * - `busy`: it is being tried, or another operator holds its key; nothing was done.
 */
export type KeptRefusal = 'too-late' | 'behind-key' | 'unknown' | 'busy';

/** `expired`: a try would drop it without calling the handler, so nothing was done. An edit has it handled. */
export type KeptRetried = 'retried' | 'expired';

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

/** One kind of change of kept messages by an operator. */
export interface KeptChange<Result extends string> {
  /** Its name in the audit. */
  readonly action: string;
  /** Changes each by a compare-and-set under the lock of its key; locked ones are answered `busy`. */
  readonly apply: (
    sql: Sql,
    group: string,
    ids: readonly string[],
    condition: KeptCondition,
  ) => Promise<readonly KeptChanged<Result>[]>;
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

/** The change of messages of one group. */
export function keptChange<Result extends string>(
  group: string,
  { action, apply }: KeptChange<Result>,
  condition: KeptCondition = {},
): Change<KeptAnswer<Result>> {
  return {
    action,
    group,
    async decide(sql, ids) {
      const changed = await apply(sql, group, ids, condition);
      const standing = await readStanding(sql, group, ids);
      return changed.map(({ id, result, details }) => {
        const gone = { topic: null, key: null, state: result === 'handled' ? ('handled' as const) : null };
        const { topic, key, state } = standing.get(id) ?? gone;
        const said = result === 'handled' ? 'too-late' : result;
        const open = said === 'busy' ? 'busy' : undefined;
        return { answer: { id, topic, key, state, result: said }, open, details: details ?? undefined };
      });
    },
  };
}

/**
 * Retries failed messages, with all of their tries, in their old positions: before the queued later messages of their keys. Those
 * that have expired stay. For
 * a parked message that is the first of its key the next try is now, and its tries count on.
 *
 * A free key becomes parked by this, so that no handler takes a message of it out of order; the first try, not this call,
 * waits for handlers that have already begun.
 *
 * None of the messages overtakes an earlier one of its key that is busy.
 */
export const retryKept: KeptChange<KeptRetried> = {
  action: 'retry',
  apply: (sql, group, ids, condition) =>
    answered(
      sql,
      'select r.id, r.result, r.details::text as details from outbox.retry_kept_in_order($1, $2::text[], $3::text[], $4::text) r',
      [group, [...ids], ...conditionValues(condition)],
    ),
};

/**
 * Ends failed and parked messages for good. Keys that they blocked, or were the first of, go on. They are never handled, even if
 * they are delivered again.
 */
export const discardKept: KeptChange<'discarded'> = {
  action: 'discard',
  apply: (sql, group, ids, condition) =>
    answered(
      sql,
      `select x.id, c.result, c.details::text as details from unnest($2::text[]) with ordinality x (id, n)
         cross join lateral outbox.discard_kept($1, x.id, $3::text[], $4::text) c order by x.n`,
      [group, [...ids], ...conditionValues(condition)],
    ),
};

/**
 * Removes body, headers and error of superseded and discarded messages. Answers `expunged` also for messages that already were, and
 * `not-ended` for parked and failed ones. Conditions are not checked.
 */
export const expungeKept: KeptChange<Expunged> = {
  action: 'expunge',
  apply: (sql, group, ids) =>
    answered(
      sql,
      `select x.id, c.result, c.details::text as details from unnest($2::text[]) with ordinality x (id, n)
         cross join lateral outbox.expunge_kept($1, x.id) c order by x.n`,
      [group, [...ids]],
    ),
};

const changedRow = { id: textCell, result: textCell, details: orNull(jsonCell) };

async function answered<Result extends string>(
  sql: Sql,
  text: string,
  values: readonly unknown[],
): Promise<readonly KeptChanged<Result>[]> {
  const rows = readRows(await sql.query<object>(text, values), changedRow);
  return rows as readonly KeptChanged<Result>[];
}

/** The last two parameters of `outbox.retry_kept_in_order` and `outbox.discard_kept`. */
function conditionValues({ states, reason }: KeptCondition): readonly unknown[] {
  return [states === undefined ? null : [...states], reason ?? null];
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
