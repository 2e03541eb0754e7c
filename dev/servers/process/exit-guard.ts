/** A server that must not outlive this process. */
export interface Guarded {
  /** Stops the server and removes temporary data. */
  end(): Promise<void>;
  /** The same without waiting, for use while the process exits. */
  endNow(): void;
}

const guarded = new Set<Guarded>();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Until `unguard`, stops the server when this process exits or gets SIGINT, SIGTERM or SIGHUP. */
export function guard(server: Guarded): void {
  if (guarded.size === 0) {
    process.on('exit', endAllNow);
    // Prepended, so that a listener added by `once` is still counted.
    for (const signal of signals) process.prependListener(signal, endAllBySignal);
  }
  guarded.add(server);
}

/** Call after the server has ended. */
export function unguard(server: Guarded): void {
  if (!guarded.delete(server) || guarded.size > 0) return;
  process.off('exit', endAllNow);
  for (const signal of signals) process.off(signal, endAllBySignal);
}

function endAllNow(): void {
  for (const server of guarded) server.endNow();
}

/**
 * Does nothing if the signal has other listeners: they may have work to finish that needs the servers, and
 * `endAllNow` runs when they exit. Otherwise it stops the servers and raises the signal again, for its default effect.
 */
function endAllBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  const ends = [...guarded].map((server) => server.end());
  void Promise.allSettled(ends).then(() => process.kill(process.pid, signal));
}
