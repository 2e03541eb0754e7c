import type { Database, Sql } from '../database/database.ts';

/** On whose behalf something is done. Recorded in the audit, in the same transaction. */
export interface Author {
  /** Who does it: a person, or a tool. */
  readonly actor: string;
  readonly reason?: string;
  /** The bulk operation that it is part of. */
  readonly bulkId?: string;
}

/** What an operator did, or was refused. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  /** `null` for an action on a whole topic or transport, or on a kept message. */
  readonly messageId: string | null;
  /** A message that a consumer keeps, whose id need not be a UUID. */
  readonly kept?: { readonly group: string; readonly id: string };
  readonly topic?: string | null;
  readonly result: string;
  readonly reason?: string | undefined;
  /** The bulk operation that it was part of. */
  readonly bulkId?: string | undefined;
  /** Counts, times and ids; never a payload, nor its hash, which outlives an expunge and discloses which of few values it was. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Writes entries in the transaction of the action, so that no action is committed without them. */
export async function writeAudit(sql: Sql, entries: readonly AuditEntry[]): Promise<readonly string[]> {
  if (entries.length === 0) return [];
  const rows = await sql.query<{ id: string }>(
    `insert into outbox.audit (actor, action, message_id, consumer_group, inbox_id, topic, result, reason, details, bulk_id)
     select e.actor, e.action, e.message_id, e.consumer_group, e.inbox_id, e.topic, e.result, e.reason, e.details, e.bulk_id from (
       select * from rows from (jsonb_to_recordset($1::text::jsonb)
           as (actor text, action text, message_id uuid, consumer_group text, inbox_id text, topic text, result text, reason text,
             details jsonb, bulk_id uuid))
         with ordinality as r(actor, action, message_id, consumer_group, inbox_id, topic, result, reason, details, bulk_id, n)
       order by r.n) e
     returning id`,
    [
      JSON.stringify(
        entries.map(({ messageId, kept, reason, topic, details, bulkId, ...entry }) => ({
          ...entry,
          message_id: messageId,
          consumer_group: kept?.group ?? null,
          inbox_id: kept?.id ?? null,
          topic: topic ?? null,
          reason: reason ?? null,
          details: details ?? null,
          bulk_id: bulkId ?? null,
        })),
      ),
    ],
  );
  return rows.map(({ id }) => id);
}

/** Carries the answer of a transaction that is rolled back on purpose. */
class Rehearsed extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('rehearsed');
    this.answer = answer;
  }
}

/**
 * Runs `work` in a transaction; a dry run is rolled back at its end, so that it returns what would happen, and changes
 * nothing.
 *
 * @param rehearsal whether it is one, or says so of the result
 */
export async function transactOrRehearse<Result>(
  database: Database,
  rehearsal: boolean | ((result: Result) => boolean),
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  if (rehearsal === false) return database.transaction(work);
  try {
    return await database.transaction(async (sql) => {
      const result = await work(sql);
      if (rehearsal === true || rehearsal(result)) throw new Rehearsed(result);
      return result;
    });
  } catch (error) {
    if (error instanceof Rehearsed) return error.answer as Result;
    throw error;
  }
}

/** Maximum number of messages that one transaction changes. */
export const messagesPerTransaction = 1_000;

/** What was decided about one message under its lock. */
export interface Decided<Answer> {
  readonly answer: Answer;
  /** Nothing was written: others have it in hand (`busy`), or another kind of change must decide (`deferred`). */
  readonly open?: 'busy' | 'deferred' | undefined;
  readonly details?: AuditEntry['details'];
}

/** One kind of change by an operator, of messages of the outbox or of those that a group keeps. */
export interface Change<Answer> {
  /** Its name in the audit. */
  readonly action: string;
  /** The group that keeps the messages; `null`: they are messages of the outbox. */
  readonly group: string | null;
  /**
   * Decides about each message by a compare-and-set, without waiting for locks: an open business transaction must neither
   * block an operation nor deadlock with it.
   */
  readonly decide: (sql: Sql, ids: readonly string[]) => Promise<readonly Decided<Answer>[]>;
}

/** What one transaction did. The open messages are neither answered nor audited, unless this was the last round. */
export interface Round<Answer> {
  readonly answers: readonly Answer[];
  readonly busy: readonly string[];
  readonly deferred: readonly Answer[];
}

/**
 * Changes messages, at most {@link messagesPerTransaction} and each once, with one audit entry per answered message.
 *
 * @param last true: messages that are open are answered as they are, instead of being left for another round
 */
export async function changeLocked<
  Answer extends { readonly id: string; readonly topic: string | null; readonly result: string },
>(
  sql: Sql,
  ids: readonly string[],
  { action, group, decide }: Change<Answer>,
  author: Author,
  last: boolean,
): Promise<Round<Answer>> {
  const decided = await decide(sql, ids);
  const answered = last ? decided : decided.filter(({ open }) => open === undefined);
  const left = (why: Decided<Answer>['open']): readonly Answer[] =>
    last ? [] : decided.flatMap(({ answer, open }) => (open === why ? [answer] : []));
  await writeAudit(
    sql,
    answered.map(({ answer: { id, topic, result }, details }) => {
      const named = group === null ? { messageId: id } : { messageId: null, kept: { group, id } };
      return { ...author, ...named, action, topic, result, details };
    }),
  );
  return {
    answers: answered.map(({ answer }) => answer),
    busy: left('busy').map(({ id }) => id),
    deferred: left('deferred'),
  };
}
