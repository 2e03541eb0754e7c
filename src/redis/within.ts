/** What {@link within} answers when the time was over. */
export const late = Symbol('late');

/** The result, or {@link late}. What arrived while this process was too busy to look is in time. */
export function within<T>(result: Promise<T>, ms: number): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    // The event loop reads sockets after its timers and before this.
    const timer = setTimeout(() => setImmediate(() => resolve(late)), ms);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
