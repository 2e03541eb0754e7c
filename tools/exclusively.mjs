import { mkdirSync, readlinkSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';

/** After this time a process that waits says for what. */
const silentMs = 2_000;
const lookMs = 100;

/**
 * Runs `work` while no other process has the lock, and waits for it as long as it takes. A lock whose process is dead is taken
 * away.
 *
 * @param lock a path; the lock is a link to the id of its process, because a link is created with its content in one step
 */
export function exclusively(lock, work) {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; !isTaken(lock); waitedMs += lookMs) {
    if (waitedMs === silentMs) console.error(`Waiting for process ${holderOf(lock)}, which has ${lock} …`);
    Atomics.wait(sleeper, 0, 0, lookMs);
  }
  try {
    return work();
  } finally {
    unlinkSync(lock);
  }
}

function isTaken(lock) {
  if (unless('EEXIST', () => symlinkSync(String(process.pid), lock))) return true;
  if (isDead(holderOf(lock))) takeAway(lock);
  return false;
}

/** One process at a time: another that has seen the dead holder, too, would delete the lock of the next one. */
function takeAway(lock) {
  const guard = `${lock}-takeover`;
  if (!unless('EEXIST', () => mkdirSync(guard))) return;
  try {
    if (isDead(holderOf(lock))) unlinkSync(lock);
  } finally {
    rmdirSync(guard);
  }
}

function holderOf(lock) {
  let holder;
  unless('ENOENT', () => {
    holder = readlinkSync(lock);
  });
  return holder;
}

function isDead(holder) {
  return (
    holder !== undefined && !unless('ESRCH', () => unless('EPERM', () => process.kill(Number(holder), 0)))
  );
}

/** @returns false if the work failed with this code */
function unless(code, work) {
  try {
    work();
    return true;
  } catch (error) {
    if (error.code !== code) throw error;
    return false;
  }
}
