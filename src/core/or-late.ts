import { startTimer } from './timer.ts';

/** The result of {@link orLate} after a timeout. */
export const late = Symbol('late');

/**
 * The result, or {@link late}. A result that arrived while this process was too busy to read it counts as in time.
 *
 * @param options with `ref: false` the wait does not keep the process alive
 */
export function orLate<Result>(
  result: Promise<Result>,
  ms: number,
  { ref = true } = {},
): Promise<Result | typeof late> {
  return new Promise((resolve, reject) => {
    // The event loop polls sockets after timers and before `setImmediate` callbacks.
    const timer = startTimer(() => setImmediate(() => resolve(late)), ms);
    if (!ref) timer.unref();
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
