import type { Sql } from '../database/database.ts';
import type { Migration } from '../installation/migrate.ts';

/** Differences between the schema and what migrations have made. */
export interface DriftFacts {
  /** Functions whose text is another one, or that are missing. */
  readonly functions: readonly string[];
  /** Indexes that no query uses, because building them has failed. */
  readonly invalidIndexes: readonly string[];
  /** Triggers that were disabled. */
  readonly disabledTriggers: readonly { readonly name: string; readonly table: string }[];
  /** Tables with row level security, which hides their rows from roles, and refuses what these write. */
  readonly securedTables: readonly string[];
}

const definition =
  /^create (?:or replace )?function outbox\.(?<name>\w+)\(.*?\bas (?<quote>\$\w*\$)(?<text>.*?)\k<quote>/gms;

/**
 * Compares the schema with the migrations that it was made of. Bodies of functions are compared as text; columns and
 * constraints are not compared.
 */
export async function readDrift(sql: Sql, migrations: readonly Migration[]): Promise<DriftFacts> {
  const functions = await sql.query<{ name: string }>(
    `select name from jsonb_each_text($1::jsonb) wanted (name, body)
     where not exists (select from pg_proc p where p.pronamespace = 'outbox'::regnamespace and p.proname = name and p.prosrc = body)
     order by 1`,
    [JSON.stringify(Object.fromEntries(definedIn(migrations)))],
  );
  const invalid = await sql.query<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'outbox'::regnamespace and not i.indisvalid order by 1`,
  );
  const disabledTriggers = await sql.query<{ name: string; table: string }>(
    `select t.tgname as name, c.relname as table from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where c.relnamespace = 'outbox'::regnamespace and t.tgenabled = 'D' order by 1, 2`,
  );
  const secured = await sql.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity order by 1`,
  );
  return {
    functions: functions.map(({ name }) => name),
    invalidIndexes: invalid.map(({ name }) => name),
    disabledTriggers,
    securedTables: secured.map(({ name }) => name),
  };
}

/** The newest body of every function. */
function definedIn(migrations: readonly Migration[]): ReadonlyMap<string, string> {
  const bodies = new Map<string, string>();
  for (const { sql } of migrations)
    for (const { groups } of sql.matchAll(definition))
      bodies.set(groups?.['name'] ?? '', groups?.['text'] ?? '');
  return bodies;
}
