import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/local/free-port.ts';
import { openDatabase } from '../../src/store/pool.ts';
import { openTransaction } from './open-transaction.ts';
import { until } from './until.ts';

/** A physical copy of a server of the same test, on a port of its own. */
export interface CopiedPostgres {
  /** Of the same database as the original's. */
  readonly url: string;
  /** `127.0.0.1:port` */
  readonly address: string;
}

/** A hot standby that follows its primary by streaming replication, asynchronously. */
export interface StandbyPostgres extends CopiedPostgres {
  /** Waits until it has everything that the primary has committed by now. */
  caughtUp(): Promise<void>;
  /** It gets nothing from its primary any more. */
  cut(): Promise<void>;
  /** Makes a primary of it, and waits until it takes writes. */
  promote(): Promise<void>;
}

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** Copies a running server and starts the copy as its standby; it ends with the test. */
export async function startStandby(context: TestEnd, primaryUrl: string): Promise<StandbyPostgres> {
  const from = new URL(primaryUrl);
  const follow = `host=${from.hostname} port=${from.port} user=${from.username} password=${from.password}`;
  const copied = await startCopy(context, primaryUrl, async (folder) => {
    await writeFile(path.join(folder, 'standby.signal'), '');
    await writeFile(path.join(folder, 'postgresql.auto.conf'), `primary_conninfo = '${follow}'\n`);
  });
  const standby = openDatabase({ url: copied.url, connections: 1 });
  const primary = openDatabase({ url: primaryUrl, connections: 1 });
  context.onTestFinished(async () => {
    await primary.close();
    await standby.close();
  });
  return {
    ...copied,
    async caughtUp() {
      const [row] = await primary.query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn');
      await until(async () => {
        const rows = await standby.query('select where pg_last_wal_replay_lsn() >= $1::pg_lsn', [row?.lsn]);
        return rows.length > 0;
      });
    },
    async cut() {
      await standby.query(`alter system set primary_conninfo = ''`);
      await standby.query('select pg_reload_conf()');
      await until(async () => (await standby.query('select from pg_stat_wal_receiver')).length === 0);
    },
    async promote() {
      await standby.query('select pg_promote(true)');
      await until(async () => (await standby.query('select where not pg_is_in_recovery()')).length > 0);
    },
  };
}

async function startCopy(
  context: TestEnd,
  originalUrl: string,
  prepare: (folder: string) => Promise<void>,
): Promise<CopiedPostgres> {
  const { folder, pid } = await copyFiles(context, originalUrl);
  await prepare(folder);
  const owner = await ownerOf(pid);
  for (const file of ['.', ...(await readdir(folder))])
    await chown(path.join(folder, file), owner.uid, owner.gid);
  const url = new URL(originalUrl);
  url.port = String(await freePort());
  const settings = ['unix_socket_directories=', 'max_connections=200', 'timezone=UTC'];
  const args = settings.flatMap((setting) => ['-c', setting]);
  const child = spawn(
    await readlink(`/proc/${pid}/exe`),
    ['-D', folder, '-h', url.hostname, '-p', url.port, ...args],
    { ...owner, cwd: folder, stdio: 'ignore' },
  );
  context.onTestFinished(() => end(child));
  await until(() => answers(url.href), 60_000);
  return { url: url.href, address: url.host };
}

/** Copies the files while the server runs, as a base backup does. */
async function copyFiles(
  context: TestEnd,
  url: string,
): Promise<{ readonly folder: string; readonly pid: number }> {
  // Of one session, however long the copy takes: a pool closes what is idle.
  const admin = await openTransaction(url);
  try {
    await admin.query(`select pg_backup_start('copy', true)`);
    const [place] = await admin.query<{ folder: string }>(
      `select setting as folder from pg_settings where name = 'data_directory'`,
    );
    const original = place?.folder ?? '';
    const [pid = ''] = (await readFile(path.join(original, 'postmaster.pid'), 'utf8')).split('\n');
    const folder = await mkdtemp(`${path.dirname(original)}-copy-`);
    context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
    // With owners and rights, which node's own copy does not keep.
    await promisify(execFile)('cp', ['-a', `${original}/.`, folder]);
    await rm(path.join(folder, 'postmaster.pid'), { force: true });
    const [backup] = await admin.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(false)',
    );
    await writeFile(path.join(folder, 'backup_label'), backup?.label ?? '');
    return { folder, pid: Number(pid) };
  } finally {
    await admin.rollback();
  }
}

async function ownerOf(pid: number): Promise<{ readonly uid: number; readonly gid: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const idOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return { uid: idOf('Uid'), gid: idOf('Gid') };
}

async function answers(url: string): Promise<boolean> {
  const database = openDatabase({ url, connections: 1 });
  try {
    await database.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await database.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGQUIT');
  await exited;
}
