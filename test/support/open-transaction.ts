import pg from 'pg';
import type { Sql } from '../../src/store/database.ts';

/** A transaction that a test keeps open for as long as it likes. */
export interface OpenTransaction extends Sql {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Begins a transaction on a connection of its own. */
export async function openTransaction(url: string): Promise<OpenTransaction> {
  const client = new pg.Client({ connectionString: url });
  // A database that is dropped under a forgotten transaction must not end the test run.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    await client.query(how);
    await client.end();
  };
  return {
    query: async <Row>(text: string, values: readonly unknown[] = []) =>
      (await client.query(text, [...values])).rows as readonly Row[],
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  };
}
