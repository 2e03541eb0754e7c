import { type AuditEntry, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';

/** Of an API session: SHA-256 of the id in the cookie, in hex, and the provider that proved the person. */
export interface ApiSessionKey {
  readonly idHash: string;
  readonly provider: string;
}

/** Who has signed in. */
export interface SignedIn {
  /** As the provider has it. */
  readonly name: string;
  /** What the provider says about the person; the configuration says which rights that gives. */
  readonly grants: readonly string[];
}

/** When an API session ends, in milliseconds. */
export interface ApiSessionTimes {
  /** After the last request. */
  readonly idleMs: number;
  /** After the sign-in. */
  readonly longestMs: number;
}

/** Ended ones that a new one deletes: more than come. */
const deletedAtOnce = 10;
/** Part of the idle time within which a request need not be noted, so that not every one writes. */
const notedParts = 30;

const live = `s.id_hash = $1 and s.provider = $2 and s.used_at > now() - $3 * interval '1 ms'
  and s.begun_at > now() - $4 * interval '1 ms'`;

/**
 * Begins an API session, and ends the one that the browser had.
 *
 * @param replaced hash of the id that the browser sent, whatever that was
 */
export async function beginApiSession(
  database: Database,
  { idHash, provider }: ApiSessionKey,
  { grants, name }: SignedIn,
  { idleMs, longestMs }: ApiSessionTimes,
  replaced: string | undefined,
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query(
      `delete from outbox.api_session s where s.id_hash in (
         select o.id_hash from outbox.api_session o
         where o.provider = $2
           and (o.used_at <= now() - $3 * interval '1 ms' or o.begun_at <= now() - $4 * interval '1 ms')
         order by o.used_at limit ${deletedAtOnce} for update skip locked)
       or s.id_hash = $1`,
      [replaced ?? '', provider, idleMs, longestMs],
    );
    await sql.query(
      'insert into outbox.api_session (id_hash, provider, name, grants) values ($1, $2, $3, $4)',
      [idHash, provider, name, grants],
    );
    await writeAudit(sql, [entryOf(name, 'signIn', 'signed-in')]);
  });
}

/** Who has signed in with it; nothing if it is unknown or has ended. Its idle time begins again. */
export async function useApiSession(
  sql: Sql,
  { idHash, provider }: ApiSessionKey,
  { idleMs, longestMs }: ApiSessionTimes,
): Promise<SignedIn | undefined> {
  const [row] = await sql.query<SignedIn>(
    `with noted as (update outbox.api_session s set used_at = now()
       where ${live} and s.used_at <= now() - $3 * interval '1 ms' / ${notedParts})
     select s.name, s.grants from outbox.api_session s where ${live}`,
    [idHash, provider, idleMs, longestMs],
  );
  return row;
}

/** Ends an API session for all processes at once. An unknown one is no error. */
export async function endApiSession(database: Database, { idHash, provider }: ApiSessionKey): Promise<void> {
  await database.transaction(async (sql) => {
    const ended = await sql.query<{ readonly name: string }>(
      'delete from outbox.api_session s where s.id_hash = $1 and s.provider = $2 returning s.name',
      [idHash, provider],
    );
    await writeAudit(
      sql,
      ended.map(({ name }) => entryOf(name, 'signOut', 'signed-out')),
    );
  });
}

/** Notes that somebody whom the provider has proved has no rights here. */
export async function noteSignInDenied(sql: Sql, name: string): Promise<void> {
  await writeAudit(sql, [entryOf(name, 'signIn', 'denied')]);
}

function entryOf(actor: string, action: string, result: string): AuditEntry {
  return { actor, action, messageId: null, result };
}
