import type { Sql } from '../database/database.ts';

/** A request that may be repeated, by the key that its caller chose. */
export interface RepeatableRequest {
  /** Who makes it; keys of others are other keys. */
  readonly actor: string;
  readonly key: string;
  /** Digest of everything that it asks for. */
  readonly digest: string;
}

/** The first answer to a request. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
}

/** What is known of a request: nothing so far, an answer, none yet, or that it asked for something else. */
export type EarlierRequest =
  | { readonly kind: 'new' | 'unanswered' | 'other' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer };

/** How long an answer is kept at least. */
const keptFor = '1 day';
/** Expired requests that a new one deletes: more than come. */
const deletedAtOnce = 10;

/**
 * Notes a request. One of the same key that is being answered in another transaction is awaited.
 */
export async function noteRequest(
  sql: Sql,
  { actor, digest, key }: RepeatableRequest,
): Promise<EarlierRequest> {
  await sql.query(
    `delete from outbox.request r where (r.actor, r.key) in (
       select o.actor, o.key from outbox.request o where o.created_at < now() - interval '${keptFor}'
       order by o.created_at limit ${deletedAtOnce} for update skip locked)`,
  );
  const noted = await sql.query(
    `insert into outbox.request (actor, key, digest) values ($1, $2, $3) on conflict (actor, key) do nothing returning 1`,
    [actor, key, digest],
  );
  if (noted.length > 0) return { kind: 'new' };
  const [row] = await sql.query<{
    readonly digest: string;
    readonly status: number | null;
    readonly body: string | null;
  }>('select r.digest, r.status, r.answer as body from outbox.request r where r.actor = $1 and r.key = $2', [
    actor,
    key,
  ]);
  if (row === undefined) return { kind: 'unanswered' };
  if (row.digest !== digest) return { kind: 'other' };
  const { body, status } = row;
  return status === null || body === null
    ? { kind: 'unanswered' }
    : { kind: 'answered', answer: { status, body } };
}

/** Stores the answer to a noted request. */
export async function storeAnswer(
  sql: Sql,
  { actor, key }: RepeatableRequest,
  { body, status }: StoredAnswer,
): Promise<void> {
  await sql.query('update outbox.request r set status = $3, answer = $4 where r.actor = $1 and r.key = $2', [
    actor,
    key,
    status,
    body,
  ]);
}
