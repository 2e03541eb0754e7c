import { readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';

/**
 * Runs `work` while no other process has the lock, and waits for it as long as it takes. A lock whose process is dead is taken
 * over.
 *
 * @param lock a path; the lock is a link to the id of its process, because a link is created with its content in one step
 */
export function exclusively(lock, work) {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (!isTaken(lock)) Atomics.wait(sleeper, 0, 0, 100);
  try {
    return work();
  } finally {
    unlinkSync(lock);
  }
}

function isTaken(lock) {
  try {
    symlinkSync(String(process.pid), lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const holder = orGone(() => readlinkSync(lock));
  if (holder !== undefined && !isAlive(Number(holder))) takeAway(lock, holder);
  return false;
}

/** Moves the lock before deleting it: another process may have deleted it and taken the next one since it was read. */
function takeAway(lock, holder) {
  const own = `${lock}.${process.pid}`;
  orGone(() => {
    renameSync(lock, own);
    if (readlinkSync(own) === holder) unlinkSync(own);
    else renameSync(own, lock);
  });
}

function isAlive(id) {
  try {
    return process.kill(id, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function orGone(work) {
  try {
    return work();
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  }
}
