import type { Sql } from '../database/database.ts';

/** A limit or duration of the relay that was started last. */
export interface Setting {
  /** For example `relay.lookInterval`. */
  readonly name: string;
  /** In words, for example `10ms`. */
  readonly value: string;
}

/** Stores the settings of a relay that starts, in place of all earlier ones: those of the last one are shown. */
export async function writeSettings(sql: Sql, settings: readonly Setting[]): Promise<void> {
  await sql.query(
    `with gone as (delete from outbox.setting where name <> all ($1))
     insert into outbox.setting as s (name, value)
     select * from unnest($1::text[], $2::text[]) as given (name, value) order by name
     on conflict (name) do update set value = excluded.value, updated_at = now() where s.value <> excluded.value`,
    [settings.map(({ name }) => name), settings.map(({ value }) => value)],
  );
}

/** All settings by name. Empty before the first relay has started. */
export async function readSettings(sql: Sql): Promise<readonly Setting[]> {
  return sql.query<Setting>('select name, value from outbox.setting order by name');
}
