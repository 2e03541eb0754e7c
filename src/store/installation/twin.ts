import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';

/** A relay's answer about its database. */
export interface PlaceAnswer {
  /** False: the question is not in it, so it is not the database of the relay that asked. */
  readonly known: boolean;
  /** Address of the server, database and time of its start, for display. */
  readonly place: string;
}

/** Another running database of this installation. */
export interface Twin {
  /** Address of its server, database and time of its start, for display. */
  readonly place: string;
  /** When it was last seen. */
  readonly seenAt: Date;
}

/** Writes a question that only this database has. Deletes those of dead processes. */
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

/** Answers by a statement that writes, which a replica or a demoted primary refuses. */
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

/** True if the server has been started since the last relay used this database. */
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

/** How long a sighting counts: relays look each minute, but either side may answer, by chance. */
const sightLasts = `interval '15 minutes'`;

/** A twin was seen recently; a condition on `outbox.installation`. */
export const twinSeen = `(twin ->> 'seenAt')::timestamptz > now() - ${sightLasts}`;

/** The twin that was seen within the last minutes, or `null`. */
export async function readTwin(sql: Sql): Promise<Twin | null> {
  const [row] = await sql.query<Twin>(
    `select twin ->> 'place' as place, (twin ->> 'seenAt')::timestamptz as "seenAt" from outbox.installation where ${twinSeen}`,
  );
  return row ?? null;
}
