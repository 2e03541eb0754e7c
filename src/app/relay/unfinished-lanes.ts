import { rest } from '../../core/rest.ts';
import { completeChanges } from '../../operations/announce.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { Database } from '../../store/database/database.ts';

/** Between reports about a topic that still waits, and after a failure. */
const tellEveryMs = 5_000;
const againAfterMs = 1_000;
/** Between looks for changes of lanes: operators may begin one at any time. */
const lookEveryMs = 5_000;

/** Completes changes of lanes in the background, those of new topics and those that operators left unfinished, until it is stopped. */
export function completeInBackground(
  database: Database,
  topics: readonly string[],
  report: RelayReport,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = complete(database, topics, report, stopping.signal);
  return {
    stop: () => {
      stopping.abort();
      return done;
    },
  };
}

async function complete(
  database: Database,
  topics: readonly string[],
  report: RelayReport,
  signal: AbortSignal,
): Promise<void> {
  // A wait for transactions must not start over with each report: there are always new ones.
  let timeout = tellEveryMs;
  while (!signal.aborted) {
    try {
      const unfinished = await completeChanges(database, topics, { timeout, signal });
      if (unfinished.length === 0) {
        timeout = tellEveryMs;
        await rest(lookEveryMs, signal);
        continue;
      }
      timeout = 12 * tellEveryMs;
      if (signal.aborted) return;
      for (const { topic, waitingFor, who } of unfinished)
        report({ type: 'topic-waiting', topic, waitingFor, who });
    } catch (error) {
      if (!signal.aborted) report({ type: 'error', during: 'announce', error });
      await rest(againAfterMs, signal);
    }
  }
}
