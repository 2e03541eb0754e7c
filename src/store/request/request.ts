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

/** What is known of a request: it is to be answered here, it is being answered elsewhere, it has an answer, or it asked for something else. */
export type EarlierRequest =
  | { readonly kind: 'taken' | 'elsewhere' | 'other' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer };

/** How long an answer is kept at least. */
const keptFor = '1 day';
/** Expired requests that a new one deletes: more than come. */
const deletedAtOnce = 10;
/** How long a process that has ended keeps a request from being answered: several times {@link requestTouchedMs}. */
const takenMs = 10_000;
/** How often who answers a request outside of a transaction says that it still does. */
export const requestTouchedMs = 2_000;

const takenUntil = `clock_timestamp() + interval '${takenMs} ms'`;

/**
 * Takes a request, so that nobody else answers it. One of the same key that is being answered in another transaction is awaited.
 */
export async function takeRequest(
  sql: Sql,
  { actor, digest, key }: RepeatableRequest,
): Promise<EarlierRequest> {
  await sql.query(
    `delete from outbox.request r where (r.actor, r.key) in (
       select o.actor, o.key from outbox.request o where o.created_at < now() - interval '${keptFor}'
       order by o.created_at limit ${deletedAtOnce} for update skip locked)`,
  );
  const taken = await sql.query(
    `insert into outbox.request as r (actor, key, digest, taken_until) values ($1, $2, $3, ${takenUntil})
     on conflict (actor, key) do update set taken_until = excluded.taken_until
     where r.digest = excluded.digest and r.status is null
       and (r.taken_until is null or r.taken_until < clock_timestamp())
     returning 1`,
    [actor, key, digest],
  );
  if (taken.length > 0) return { kind: 'taken' };
  const [row] = await sql.query<{
    readonly digest: string;
    readonly status: number | null;
    readonly body: string | null;
  }>('select r.digest, r.status, r.answer as body from outbox.request r where r.actor = $1 and r.key = $2', [
    actor,
    key,
  ]);
  if (row === undefined) return { kind: 'elsewhere' };
  if (row.digest !== digest) return { kind: 'other' };
  const { body, status } = row;
  return status === null || body === null
    ? { kind: 'elsewhere' }
    : { kind: 'answered', answer: { status, body } };
}

/** Says that a request is still being answered. */
export async function touchRequest(sql: Sql, { actor, key }: RepeatableRequest): Promise<void> {
  await sql.query(
    `update outbox.request r set taken_until = ${takenUntil}
     where r.actor = $1 and r.key = $2 and r.status is null and r.taken_until is not null`,
    [actor, key],
  );
}

/** Lets a repeat be answered, because there is no answer to keep. */
export async function leaveRequest(sql: Sql, { actor, key }: RepeatableRequest): Promise<void> {
  await sql.query(
    'update outbox.request r set taken_until = null where r.actor = $1 and r.key = $2 and r.status is null',
    [actor, key],
  );
}

/** Stores the answer to a request that was taken. */
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
