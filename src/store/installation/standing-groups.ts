import type { Sql } from '../database/database.ts';

/** Where a group stands in a partition in which messages wait for it. */
export interface Standing {
  /** The first offset that it has not committed; `null`: it has committed none. */
  readonly at: string | null;
  /** Since when, in milliseconds of the database's clock. */
  readonly sinceMs: number;
  /** How long it had stood there when the last look began, in milliseconds. */
  readonly standsMs: number;
}

/** What is noted of a group at an address. */
export interface GroupNote {
  /** By partition; without those in which nothing waits. */
  readonly places: Readonly<Record<string, Standing>>;
}

/** When a look began, and when its result is written, in milliseconds of the database's clock. */
export interface LookTimes {
  readonly beganMs: number;
  readonly endedMs: number;
}

/** A look at the groups of an address, which one relay does for all. */
export interface GroupLook {
  /** Name of the transport in the configuration. */
  readonly transport: string;
  readonly address: string;
  /** Number of the look, ascending for each address. */
  readonly number: string;
  /** When it began, in milliseconds of the outbox' clock. */
  readonly beganMs: number;
}

/** Begins a look at each of these addresses at which the last one of any relay began long enough ago, on the server's clock. */
export async function beginGroupLooks(
  sql: Sql,
  transport: string,
  addresses: readonly string[],
  everyMs: number,
): Promise<readonly GroupLook[]> {
  // In one order, so that two relays never wait for each other.
  return sql.query<GroupLook>(
    `insert into outbox.group_look as l (transport, address, number, began_at)
     select $1, a, 1, clock_timestamp() from unnest($2::text[]) a order by a collate "C"
     on conflict (transport, address) do update set number = l.number + 1, began_at = clock_timestamp()
       where not outbox.lately(l.began_at, $3::float8)
     returning l.transport, l.address, l.number::text, (extract(epoch from outbox.clock()) * 1000)::float8 as "beganMs"`,
    [transport, [...addresses], everyMs],
  );
}

/** A group at an address. */
export interface GroupAt {
  readonly address: string;
  readonly group: string;
}

/** Forgets the groups for which nothing waits, as these looks have seen. Those that other relays watch stay. */
export async function forgetMovedGroups(
  sql: Sql,
  looks: readonly GroupLook[],
  moved: readonly GroupAt[],
): Promise<void> {
  await sql.query(
    `delete from outbox.group_place p using unnest($1::text[], $2::text[], $3::bigint[]) as l (transport, address, number)
     where p.transport = l.transport and p.address = l.address and p.look < l.number
       and (p.address, p.consumer_group) in (select * from unnest($4::text[], $5::text[]))`,
    [
      looks.map(({ transport }) => transport),
      looks.map(({ address }) => address),
      looks.map(({ number }) => number),
      moved.map(({ address }) => address),
      moved.map(({ group }) => group),
    ],
  );
}

/** Notes that a look saw the group lagging, even if its position is not written. */
export async function noteBehind(sql: Sql, { transport, address }: GroupLook, group: string): Promise<void> {
  await sql.query(
    `insert into outbox.group_place (transport, address, consumer_group) values ($1, $2, $3)
     on conflict (transport, address, consumer_group) do update set looked_at = clock_timestamp()`,
    [transport, address, group],
  );
}

/**
 * Locks what is noted of a group, for the rest of the transaction.
 *
 * @returns `undefined` if another relay has it, or has noted the result of a later look. One that has only begun a later look does
 * not count: a broker that answers more slowly than relays look would never be heard.
 */
export async function lockGroupNote(
  sql: Sql,
  { transport, address, number }: GroupLook,
  group: string,
): Promise<(GroupNote & Pick<LookTimes, 'endedMs'>) | undefined> {
  const [note] = await sql.query<GroupNote & Pick<LookTimes, 'endedMs'>>(
    `select places, (extract(epoch from outbox.clock()) * 1000)::float8 as "endedMs"
     from outbox.group_place where transport = $1 and address = $2 and consumer_group = $3 and look < $4::bigint
     for update skip locked`,
    [transport, address, group, number],
  );
  return note;
}

/** Notes where a group stands. */
export async function writeGroupNote(
  sql: Sql,
  { transport, address, number }: GroupLook,
  group: string,
  { places }: GroupNote,
): Promise<void> {
  await sql.query(
    `update outbox.group_place set places = $5::jsonb, look = $4::bigint
     where transport = $1 and address = $2 and consumer_group = $3`,
    [transport, address, group, number, JSON.stringify(places)],
  );
}

/** Deletes what is noted of addresses at which no relay has looked for a month: they are no longer used. */
export async function dropUnwatched(sql: Sql): Promise<void> {
  await sql.query(
    `with gone as (
       delete from outbox.group_look l where l.began_at < clock_timestamp() - interval '31 days' returning l.transport, l.address
     )
     delete from outbox.group_place p using gone g where p.transport = g.transport and p.address = g.address`,
  );
}
