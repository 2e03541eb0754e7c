import type { Sql } from '../database/database.ts';

/** Where a group stands in a partition in which messages wait for it. */
export interface Standing {
  /** The first offset that it has not committed; `null`: it has committed none. */
  readonly at: string | null;
  /** Since when, in milliseconds of the database's clock. */
  readonly sinceMs: number;
  /** Its stall was told, or is part of one that was. */
  readonly told: boolean;
}

/** What is noted of a group at a topic. */
export interface GroupNote {
  /** By partition; without those in which nothing waits. */
  readonly places: Readonly<Record<string, Standing>>;
}

/** When a look began, and when its result is written, in milliseconds of the database's clock. */
export interface LookTimes {
  readonly beganMs: number;
  readonly endedMs: number;
}

/** A look at the groups of a transport, which one relay does for all. */
export interface GroupLook {
  /** Name of the transport in the configuration. */
  readonly transport: string;
  /** Number of the look; a later one makes it void. */
  readonly number: string;
  /** When it began, in milliseconds of the outbox' clock. */
  readonly beganMs: number;
}

/** Begins a look if the last one of any relay is long enough ago, on the server's clock. */
export async function beginGroupLook(
  sql: Sql,
  transport: string,
  everyMs: number,
): Promise<GroupLook | undefined> {
  const [begun] = await sql.query<{ number: string; beganMs: number }>(
    `insert into outbox.group_look as l (transport, number, began_at) values ($1, 1, clock_timestamp())
     on conflict (transport) do update set number = l.number + 1, began_at = clock_timestamp()
       where l.began_at <= clock_timestamp() - $2::float8 * interval '1 ms'
     returning l.number::text, (extract(epoch from outbox.clock()) * 1000)::float8 as "beganMs"`,
    [transport, everyMs],
  );
  return begun === undefined ? undefined : { transport, ...begun };
}

/** A group at a topic. */
export interface GroupAt {
  readonly topic: string;
  readonly group: string;
}

/** Forgets the groups for which nothing waits at these topics: all but those that are behind. */
export async function forgetMovedGroups(
  sql: Sql,
  look: GroupLook,
  topics: readonly string[],
  behind: readonly GroupAt[],
): Promise<void> {
  await sql.query(
    `delete from outbox.group_place p
     where p.topic = any($3::text[])
       and exists (select from outbox.group_look l where l.transport = $1 and l.number = $2::bigint)
       and not exists (select from unnest($4::text[], $5::text[]) as b (topic, name)
         where b.topic = p.topic and b.name = p.consumer_group)`,
    [
      look.transport,
      look.number,
      [...topics],
      behind.map(({ topic }) => topic),
      behind.map(({ group }) => group),
    ],
  );
}

/**
 * Locks what is noted of a group, for the rest of the transaction.
 *
 * @returns `undefined` if another relay has it, or has begun a later look: its answers are newer
 */
export async function lockGroupNote(
  sql: Sql,
  look: GroupLook,
  { topic, group }: GroupAt,
): Promise<(GroupNote & Pick<LookTimes, 'endedMs'>) | undefined> {
  await sql.query(
    `insert into outbox.group_place (topic, consumer_group) values ($1, $2) on conflict do nothing`,
    [topic, group],
  );
  const [note] = await sql.query<GroupNote & Pick<LookTimes, 'endedMs'>>(
    `select places, (extract(epoch from outbox.clock()) * 1000)::float8 as "endedMs"
     from outbox.group_place where topic = $1 and consumer_group = $2 for update skip locked`,
    [topic, group],
  );
  if (note === undefined) return undefined;
  // Asked with the lock held: a look that begins from here on finds the row locked.
  const valid = await sql.query(
    'select from outbox.group_look where transport = $1 and number = $2::bigint',
    [look.transport, look.number],
  );
  return valid.length === 0 ? undefined : note;
}

/** Notes where a group stands, and which stalls are told. */
export async function writeGroupNote(
  sql: Sql,
  { topic, group }: GroupAt,
  { places }: GroupNote,
): Promise<void> {
  await sql.query(
    `update outbox.group_place set places = $3::jsonb where topic = $1 and consumer_group = $2`,
    [topic, group, JSON.stringify(places)],
  );
}
