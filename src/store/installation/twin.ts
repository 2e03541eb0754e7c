import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';

/** What a relay answers about the database that it works with. */
export interface PlaceAnswer {
  /** False: the question is not in it, so it is not the database of the relay that asked. */
  readonly known: boolean;
  /** Address of the server, database and time of its start, for people. */
  readonly place: string;
}

/** Another living database that is this installation, too. */
export interface Twin {
  readonly place: string;
  /** ISO time at which it was last seen. */
  readonly seenAt: string;
}

/** Writes a question that only this database has. Those of processes that died are forgotten. */
export async function writeQuestion(sql: Sql): Promise<string> {
  const id = randomUUID();
  await sql.query(
    `with forgotten as (delete from outbox.place_question where asked_at < now() - interval '1 hour')
     insert into outbox.place_question (id) values ($1)`,
    [id],
  );
  return id;
}

export async function deleteQuestion(sql: Sql, id: string): Promise<void> {
  await sql.query('delete from outbox.place_question where id = $1', [id]);
}

/** Answers by a statement that writes: a replica, or a primary that was demoted, refuses it and answers nothing. */
export async function answerQuestion(sql: Sql, id: string): Promise<PlaceAnswer> {
  const [row] = await sql.query<PlaceAnswer>(
    `with answered as (update outbox.place_question set answered_at = now() where id = $1 returning 1)
     select exists (select from answered) as known,
       coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a local socket') || '/' || current_database()
         || ', started ' || to_char(pg_postmaster_start_time() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as place`,
    [id],
  );
  if (row === undefined) throw new Error('A question is answered by one row.');
  return row;
}

/** True when the last relay found this database on a server that was started at another time. */
export async function servedElsewhere(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ elsewhere: boolean }>(
    'select coalesce(served_since <> pg_postmaster_start_time(), false) as elsewhere from outbox.installation',
  );
  return row?.elsewhere ?? false;
}

export async function noteServed(sql: Sql): Promise<void> {
  await sql.query(
    `update outbox.installation set served_since = pg_postmaster_start_time()
     where served_since is distinct from pg_postmaster_start_time()`,
  );
}

export async function noteTwin(sql: Sql, place: string): Promise<void> {
  await sql.query(
    `update outbox.installation
     set twin = jsonb_build_object('place', $1::text, 'seenAt', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`,
    [place],
  );
}

/** For so long a sight counts: relays look each minute, and are answered by chance by either side. */
const sightLasts = `interval '15 minutes'`;

/** A twin was seen a short while ago; a condition on `outbox.installation`. */
export const twinSeen = `(twin ->> 'seenAt')::timestamptz > now() - ${sightLasts}`;

/** The twin that was seen in the last minutes, or null. */
export async function readTwin(sql: Sql): Promise<Twin | null> {
  const [row] = await sql.query<{ twin: Twin }>(`select twin from outbox.installation where ${twinSeen}`);
  return row?.twin ?? null;
}
