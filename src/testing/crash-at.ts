import { type CrashPoint, setTrap } from '../core/crash-point.ts';
import type { Table } from '../core/options/collections.ts';
import { optionTable } from '../core/options/option-table.ts';
import { func, optional, whole } from '../core/options/values.ts';

/** When to crash, and how. */
export interface CrashOptions {
  /** The pass at which to crash, from 1. @defaultValue 1 */
  readonly pass?: number;
  /** What to do instead. @defaultValue the process ends as by `kill -9` */
  readonly instead?: () => void;
}

const crashOptions = optionTable('crashAt()', {
  pass: whole(1, undefined, 1),
  instead: optional(func<NonNullable<CrashOptions['instead']>>()),
} satisfies Table<CrashOptions>);

/**
 * Ends this process, as `kill -9` would, when it passes a named point of relay or inbox.
 *
 * For processes that a test starts to be killed; what was begun stays half done, which is the purpose.
 *
 * @returns takes the trap away again
 */
export function crashAt(point: CrashPoint, options: CrashOptions = {}): () => void {
  const { instead, pass } = crashOptions.read(options);
  const crash = instead ?? (() => process.kill(process.pid, 'SIGKILL'));
  let passes = 0;
  return setTrap(point, () => {
    passes += 1;
    if (passes === pass) crash();
  });
}
