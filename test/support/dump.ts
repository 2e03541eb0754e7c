import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import { openDatabase } from '../../src/store/pool.ts';
import type { Database, Sql } from '../../src/store/database.ts';

const execute = promisify(execFile);

/** The schema `outbox` as it stood at one moment. */
export interface Dump {
  /** Which way was gone. */
  readonly by: 'pg_dump' | 'rows';
  /** Makes the schema in a database without it. */
  restore(url: string): Promise<void>;
}

/**
 * Dumps the schema `outbox` by pg_dump where one is there that knows the server, and else row by row in one snapshot,
 * which is what pg_dump does. The PostgreSQL of the package registry comes without it.
 */
export async function dumpOutbox(url: string): Promise<Dump> {
  return (await pgDumpKnows(url)) ? byPgDump(url) : byRows(url);
}

async function pgDumpKnows(url: string): Promise<boolean> {
  const database = openDatabase({ url, connections: 1 });
  const [row] = await database.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  await database.close();
  const { stdout } = await execute('pg_dump', ['--version']).catch(() => ({ stdout: '0' }));
  const major = /(\d+)/.exec(stdout)?.[1] ?? '0';
  return Number(major) >= Number.parseInt(row?.version ?? '99', 10);
}

async function byPgDump(url: string): Promise<Dump> {
  const folder = await mkdtemp(path.join(tmpdir(), 'dump-'));
  const file = path.join(folder, 'outbox.sql');
  await execute('pg_dump', ['--schema=outbox', '--no-owner', `--file=${file}`, url]);
  return {
    by: 'pg_dump',
    restore: async (target) => {
      await execute('psql', ['--quiet', '--set=ON_ERROR_STOP=1', `--file=${file}`, target], {
        maxBuffer: 1 << 26,
      });
      await rm(folder, { recursive: true });
    },
  };
}

interface DumpedTable {
  readonly name: string;
  readonly rows: readonly string[];
}

async function byRows(url: string): Promise<Dump> {
  const source = openDatabase({ url, connections: 1 });
  const { tables, position } = await source.transaction(async (sql) => {
    await sql.query('set transaction isolation level repeatable read');
    return { tables: await readTables(sql), position: await lastPosition(sql) };
  });
  await source.close();
  return {
    by: 'rows',
    restore: async (target) => {
      const database = openDatabase({ url: target, connections: 1 });
      await migrate(database, await readMigrations());
      await writeTables(database, tables, position);
      await database.close();
    },
  };
}

async function readTables(sql: Sql): Promise<readonly DumpedTable[]> {
  const names = await sql.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'outbox' and (c.relkind = 'r' or c.relname = 'processed') and not c.relispartition
       and c.relname <> 'migration' order by 1`,
  );
  const tables: DumpedTable[] = [];
  for (const { name } of names) {
    const rows = await sql.query<{ row: string }>(`select t::text as row from outbox.${name} t`);
    tables.push({ name, rows: rows.map(({ row }) => row) });
  }
  return tables;
}

async function lastPosition(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ last: string }>('select last_value as last from outbox.message_position');
  return row?.last ?? '1';
}

/** As a restore does, no trigger looks at the rows. */
async function writeTables(
  database: Database,
  tables: readonly DumpedTable[],
  position: string,
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query('set local session_replication_role = replica');
    for (const { name, rows } of tables) {
      await sql.query(`delete from outbox.${name}`);
      await sql.query(
        `insert into outbox.${name} overriding system value select (r::outbox.${name}).* from unnest($1::text[]) r`,
        [[...rows]],
      );
    }
    await sql.query(`select setval('outbox.message_position', $1)`, [position]);
  });
}
