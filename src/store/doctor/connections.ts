import type { Sql } from '../database/database.ts';

/** How many connections a server allows, and how many are open. */
export interface ConnectionFacts {
  readonly role: string;
  /** `max_connections` without those reserved for superusers and other privileged roles. */
  readonly usable: number;
  /** Connections of clients, to any database, this one included. */
  readonly open: number;
  /** The limit of this role; `null`: none. */
  readonly roleLimit: number | null;
  readonly openByRole: number;
  /** The limit of this database; `null`: none. */
  readonly databaseLimit: number | null;
  readonly openInDatabase: number;
}

/** Needs no privileges. Not counted are the connections of background processes and of replication. */
export async function readConnectionFacts(sql: Sql): Promise<ConnectionFacts> {
  const [row] = await sql.query<ConnectionFacts>(
    `with client as (select usename, datname from pg_stat_activity where backend_type = 'client backend')
     select current_user as role,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
         - coalesce(current_setting('reserved_connections', true)::integer, 0) as usable,
       (select count(*) from client)::integer as open,
       (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) as "roleLimit",
       (select count(*) from client where usename = current_user)::integer as "openByRole",
       (select nullif(datconnlimit, -1) from pg_database where datname = current_database()) as "databaseLimit",
       (select count(*) from client where datname = current_database())::integer as "openInDatabase"`,
  );
  if (row === undefined) throw new Error('A server counts its connections in one row.');
  return row;
}
