import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../../src/core/reason.ts';
import type { DeadServer, ReportProgress } from '../local-options.ts';

/** A server that may live on and yet answer every call with an error. */
export interface WatchedServer {
  /** Display name, such as `Temporal`. */
  readonly name: string;
  readonly logFile: string;
  /** Asks the server once. @returns its error; `undefined`: it is well, or does not answer, as while it is stopped. What it throws says nothing. */
  readonly examine: () => Promise<string | undefined>;
  readonly restart: () => Promise<void>;
  readonly tell: ReportProgress;
  readonly died: (dead: DeadServer) => void;
  /** @defaultValue 5,000 */
  readonly everyMs?: number;
}

const errorsInARow = 3;
const mostRestarts = 3;

/** Restarts a server that answers with errors alone, and announces that; a few times, because not every cause ends with it. */
export function watchAnswers(server: WatchedServer): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = watch(server, stopping.signal);
  return {
    stop: () => {
      stopping.abort();
      return done;
    },
  };
}

async function watch(server: WatchedServer, signal: AbortSignal): Promise<void> {
  const { name, logFile, examine, restart, tell, died, everyMs = 5_000 } = server;
  for (let restarts = 0, errors = 0; ; ) {
    // A watch keeps no process alive.
    await delay(everyMs, undefined, { ref: false, signal }).catch(() => undefined);
    if (signal.aborted) return;
    const error = await examine().catch(() => undefined);
    errors = error === undefined ? 0 : errors + 1;
    if (signal.aborted || errors < errorsInARow) continue;
    if (restarts === mostRestarts)
      return tell(
        `${name}: answers every call with "${error}", also after ${restarts} restarts. See ${logFile}`,
      );
    restarts += 1;
    errors = 0;
    tell(`${name}: answers every call with "${error}" and is restarted (${restarts} of ${mostRestarts})`);
    try {
      await restart();
      tell(`${name}: answers again`);
    } catch (failure) {
      return died({ server: name, how: `when it was restarted: ${reasonOf(failure)}`, logFile });
    }
  }
}
