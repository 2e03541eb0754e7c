import { type CrashPoint, setTrap } from '../core/crash-point.ts';
import { assertOptions } from '../core/options/option-table.ts';

/** When to crash, and how. */
export interface CrashOptions {
  /** The pass at which to crash, from 1. @defaultValue 1 */
  readonly pass?: number;
  /** What to do instead. @defaultValue the process ends as by `kill -9` */
  readonly instead?: () => void;
}

/**
 * Ends this process, as `kill -9` would, when it passes a named point of relay or inbox.
 *
 * For processes that a test starts to be killed; what was begun stays half done, which is the purpose.
 *
 * @returns takes the trap away again
 */
export function crashAt(point: CrashPoint, options: CrashOptions = {}): () => void {
  assertOptions('crashAt()', options, ['pass', 'instead']);
  const crash = options.instead ?? (() => process.kill(process.pid, 'SIGKILL'));
  let passes = 0;
  return setTrap(point, () => {
    passes += 1;
    if (passes === (options.pass ?? 1)) crash();
  });
}
