/** A server that must not outlive this process. */
export interface Guarded {
  /** Ends the server and removes what is temporary. */
  end(): Promise<void>;
  /** The same without waiting, for the moment in which the process is already ending. */
  endNow(): void;
}

const guarded = new Set<Guarded>();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends the server when this process ends by itself or by SIGINT, SIGTERM or SIGHUP, until `unguard`. */
export function guard(server: Guarded): void {
  if (guarded.size === 0) {
    process.on('exit', endAllNow);
    // In front, to count the listeners before one that was added by `once` is taken off.
    for (const signal of signals) process.prependListener(signal, endAllBySignal);
  }
  guarded.add(server);
}

/** The server has ended. */
export function unguard(server: Guarded): void {
  if (!guarded.delete(server) || guarded.size > 0) return;
  process.off('exit', endAllNow);
  for (const signal of signals) process.off(signal, endAllBySignal);
}

function endAllNow(): void {
  for (const server of guarded) server.endNow();
}

/**
 * Does nothing when somebody else listens to the signal as well: they may have work to finish that needs the
 * servers, and their exit comes past `endAllNow`. Alone, it does what the signal would have done without it.
 */
function endAllBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  const ends = [...guarded].map((server) => server.end());
  void Promise.allSettled(ends).then(() => process.kill(process.pid, signal));
}
