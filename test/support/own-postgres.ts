import { type LocalNode, startPostgres } from '../../src/local/index.ts';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import type { Database } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/pool.ts';
import type { Credentials } from './certificates.ts';

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

/** TLS at a server, by a certificate of its own. */
export interface ServerTls extends Credentials {
  /** Certificate of the authority whose clients are known. */
  readonly clientsOf: string;
}

/** Has a server that runs take connections by TLS; the user `guarded` may come in with a client certificate only. */
export async function useTls(url: string, { cert, key, clientsOf }: ServerTls): Promise<void> {
  const admin = openDatabase({ url, connections: 1 });
  try {
    await write(admin, 'server.crt', cert);
    await write(admin, 'server.key', key);
    await write(admin, 'clients.crt', clientsOf);
    await write(
      admin,
      'guarded_hba.conf',
      'hostssl all guarded 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\nhost all all 127.0.0.1/32 scram-sha-256',
    );
    for (const setting of ["ssl_ca_file = 'clients.crt'", 'ssl = on'])
      await admin.query(`alter system set ${setting}`);
    const [file] = await admin.query<{ hba: string }>(`select current_setting('hba_file') as hba`);
    await admin.query(`copy (select 1 where false) to program 'cp guarded_hba.conf "${file?.hba ?? ''}"'`);
    await admin.query('select pg_reload_conf()');
  } finally {
    await admin.close();
  }
}

/** A file in the server's folder, which belongs to its user, as a private key must. */
async function write(admin: Database, name: string, text: string): Promise<void> {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => `'${line}'`);
  await admin.query(
    `copy (select unnest(array[${lines.join(',')}])) to program 'cat > ${name} && chmod 600 ${name}'`,
  );
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
