/** The result of {@link within} after a timeout. */
export const late = Symbol('late');

/** The result, or {@link late}. A result that arrived while this process was too busy to read it counts as in time. */
export function within<T>(result: Promise<T>, ms: number): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    // The event loop polls sockets after timers and before `setImmediate` callbacks.
    const timer = setTimeout(() => setImmediate(() => resolve(late)), ms);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
