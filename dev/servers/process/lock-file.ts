import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReportProgress } from '../local-options.ts';
import { identityOf, isRunning, type ProcessIdentity, processSpace } from './process-identity.ts';

interface LockOwner extends ProcessIdentity {
  readonly space: string;
  readonly token: string;
}

const pollEveryMs = 200;
const reportEveryPolls = 25;

/**
 * Runs work while holding a lock file, so that processes on one machine run it one at a time.
 *
 * A lock whose process is gone is taken over. Two processes that take over the same lock at the same instant may
 * both get it: use it to avoid duplicate work, never as the only protection of data.
 */
export async function withLockFile<T>(
  file: string,
  options: {
    readonly tell: ReportProgress;
    readonly label: string;
    readonly signal?: AbortSignal | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  const owner = thisProcess();
  for (let polls = 1; !(await take(file, owner)); polls += 1) {
    options.signal?.throwIfAborted();
    const holder = await readOwner(file);
    if (holder !== undefined && isAbandoned(holder)) {
      await removeIfStill(file, holder);
      continue;
    }
    if (polls % reportEveryPolls === 1)
      options.tell(`${options.label}: waiting for process ${holder?.pid ?? 'unknown'}`);
    await delay(pollEveryMs);
  }
  try {
    return await work();
  } finally {
    await removeIfStill(file, owner);
  }
}

function thisProcess(): LockOwner {
  const identity = identityOf(process.pid) ?? { pid: process.pid, startedAt: 'unknown' };
  return { ...identity, space: processSpace(), token: randomUUID() };
}

async function take(file: string, owner: LockOwner): Promise<boolean> {
  // Written first, then linked, so that a lock file never exists without its owner's identity.
  const draft = `${file}.${owner.token}`;
  await writeFile(draft, JSON.stringify(owner));
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readOwner(file: string): Promise<LockOwner | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as LockOwner;
  } catch {
    return undefined; // just released
  }
}

function isAbandoned(owner: LockOwner): boolean {
  return owner.space === processSpace() && !isRunning(owner);
}

async function removeIfStill(file: string, owner: LockOwner): Promise<void> {
  const grave = `${file}.${randomUUID()}`;
  try {
    await rename(file, grave);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const removed = await readOwner(grave);
  if (removed !== undefined && removed.token !== owner.token) await rename(grave, file);
  else await rm(grave, { force: true });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
