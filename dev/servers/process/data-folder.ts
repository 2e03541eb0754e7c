import { randomBytes } from 'node:crypto';
import { chown, mkdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import { makeOpenFolder } from '../providers/cache-folder.ts';
import { identityOf, isRunning, processSpace } from './process-identity.ts';
import { type RunRecord, readRunRecords, runFolder, writeRunRecord } from './run-record.ts';

/** The user a server runs as, if not the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Where the data of a server is stored. */
export interface DataFolder {
  /** Unique per start; names the record, the log and a temporary folder. */
  readonly runId: string;
  readonly path: string;
  /** Whether it outlives the server. */
  readonly kept: boolean;
}

/**
 * Creates the data folder of a server, private to its user.
 *
 * It is recorded before it is created, so that a temporary one is removed even if this process is killed before the
 * server runs.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when a kept folder is in use by another server.
 */
export async function makeDataFolder(
  context: LocalContext,
  name: string,
  user?: ServerUser,
): Promise<DataFolder> {
  const runId = `${name}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const data: DataFolder =
    context.keep === undefined
      ? { runId, kept: false, path: join(await makeOpenFolder(runFolder(context.cache)), runId) }
      : { runId, kept: true, path: join(await keptFolder(context.cache, context.keep), name) };
  if (data.kept) refuseIfUsed(context.cache, data.path);
  writeRunRecord(context.cache, { ...recordOf(data, name), stopSignal: 'SIGTERM' });
  await mkdir(data.path, { recursive: true, mode: 0o700 });
  if (user !== undefined) await chown(data.path, user.uid, user.gid);
  return data;
}

/** The fields common to all records of a server with this data. */
export function recordOf(data: DataFolder, server: string): Omit<RunRecord, 'stopSignal'> {
  const parent = identityOf(process.pid) ?? { pid: process.pid, startedAt: 'unknown' };
  const record = { id: data.runId, server, space: processSpace(), parent };
  return data.kept ? { ...record, keptData: data.path } : record;
}

/** @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` while a server uses this folder, or one within it */
export function refuseIfUsed(cache: string, path: string): void {
  const user = readRunRecords(cache).find(
    ({ keptData = '', parent }) => `${keptData}${sep}`.startsWith(`${path}${sep}`) && isRunning(parent),
  );
  if (user === undefined) return;
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The data in ${path} is used by ${user.server} of process ${user.parent.pid}. Stop that one first, or use its address.`,
    { details: { folder: path, pid: user.parent.pid } },
  );
}

async function keptFolder(cache: string, keep: string): Promise<string> {
  const folder = keptFolderOf(cache, keep);
  await makeOpenFolder(dirname(folder));
  return makeOpenFolder(folder);
}

/** Where all servers of this name keep their data. */
export function keptFolderOf(cache: string, keep: string): string {
  return join(cache, 'data', keep);
}
