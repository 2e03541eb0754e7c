import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { OutboxError } from '../../src/core/errors.ts';
import type { Environment, LocalPorts, ReportProgress } from './local-options.ts';
import { assertKeptName, cacheOf, openContext } from './open-context.ts';
import { keptFolderOf, refuseIfUsed } from './process/data-folder.ts';
import { canListen } from './process/free-port.ts';
import { removeKeptVolumes } from './providers/docker.ts';

/**
 * The ports of servers that a person works with: the usual ones, except for PostgreSQL, whose usual port is often taken by an
 * installed server.
 */
export const usualPorts: Required<LocalPorts> = {
  postgres: 54320,
  temporal: 7233,
  temporalUi: 8233,
  kafka: 9092,
  redis: 6379,
  rabbitmq: 5672,
};

const nameLength = 33;

/**
 * The name under which a project keeps its data: that of its folder, and a hash of the path, which tells two folders of one name
 * apart. The project is the nearest folder with a `package.json`.
 */
export function projectName(folder: string): string {
  const project = nearestPackage(folder) ?? folder;
  const words = basename(project)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const hash = createHash('sha256').update(project).digest('hex').slice(0, 6);
  return `${words.slice(0, nameLength) || 'project'}-${hash}`;
}

function nearestPackage(folder: string): string | undefined {
  if (existsSync(join(folder, 'package.json'))) return folder;
  return dirname(folder) === folder ? undefined : nearestPackage(dirname(folder));
}

/** Where the data of this name is, or would be. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function keptData(env: Environment, name: string): string {
  assertKeptName(name);
  return keptFolderOf(cacheOf(env), name);
}

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if one of these ports is taken */
export async function requireFreePorts(ports: readonly (readonly [string, number])[]): Promise<void> {
  for (const [server, port] of ports) {
    if (await canListen(port)) continue;
    throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The port ${port} for ${server} is taken.`, {
      details: { server, port },
    });
  }
}

/**
 * Deletes the data of this name.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` while a server uses it, `OUTBOX_OPTION_INVALID`
 */
export async function deleteKept(env: Environment, name: string, tell: ReportProgress): Promise<void> {
  const folder = keptData(env, name);
  if (!existsSync(folder)) return tell(`Nothing is kept in ${folder}`);
  // Ends what a process has left that was killed.
  const { cache } = await openContext({ env, progress: tell });
  refuseIfUsed(cache, folder);
  tell(`Deleting ${folder}`);
  removeKeptVolumes(name);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
