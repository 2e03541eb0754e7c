import { type LocalNode, startPostgres } from '../../src/local/index.ts';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import { openDatabase } from '../../src/store/pool.ts';

/** A PostgreSQL server that belongs to one test, which may kill it. Its commits are durable. */
export interface OwnPostgres {
  /** Of a migrated database. */
  readonly url: string;
  /** Ends the postmaster and all of its children by SIGKILL, as the end of a machine would. */
  kill(): Promise<void>;
  /** Starts it again on its data, and waits until it answers. */
  start(): Promise<void>;
}

/** Starts the server; it ends with the test. @param settings as `name=value` */
export async function ownPostgres(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  settings: readonly string[] = [],
): Promise<OwnPostgres> {
  const server = await startPostgres({ env: { ...process.env, DATABASE_URL: '' }, settings });
  context.onTestFinished(() => server.stop());
  const { node, url } = server;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const database = openDatabase({ url, connections: 1 });
  await migrate(database, await readMigrations());
  await database.close();
  return { url, kill: () => killTree(url, node), start: () => node.start() };
}

/** Backends lead groups of their own, so that a kill of the postmaster's group would leave them. */
async function killTree(url: string, node: LocalNode): Promise<void> {
  const admin = openDatabase({ url, connections: 1 });
  const children = await admin.query<{ pid: number }>('select pid from pg_stat_activity');
  const killed = node.stop('SIGKILL');
  for (const { pid } of children) endNow(pid);
  await killed;
  await admin.close();
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended in this instant.
  }
}
