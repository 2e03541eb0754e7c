import { mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines } from './run-command.ts';

const keptForMs = 7 * 24 * 60 * 60 * 1000;

/** The log file of a server. Removes logs that have not been written to for seven days. */
export function logFileOf(cache: string, runId: string): string {
  const folder = join(cache, 'log');
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder)) removeOld(join(folder, entry));
  return join(folder, `${runId}.log`);
}

/** Opens a log for a child process to append to, even after its parent is gone. */
export function openLog(file: string): number {
  return openSync(file, 'a');
}

/** The end of a log, for an error message. */
export function logTail(file: string): string {
  try {
    return lastLines(readFileSync(file, 'utf8'), 15);
  } catch {
    return '';
  }
}

function removeOld(file: string): void {
  try {
    if (Date.now() - statSync(file).mtimeMs > keptForMs) rmSync(file);
  } catch {
    // Another process removed it.
  }
}
