import { rest } from '../../core/rest.ts';
import { completeChanges } from '../../operations/announce.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { Database } from '../../store/database/database.ts';

/** How long a topic may wait until it is reported, and then between reports. */
const tellAfterMs = 5_000;
const tellEveryMs = 60_000;
const againAfterMs = 1_000;
/** Between looks for changes: operators may begin one at any time. */
const lookEveryMs = 5_000;

/**
 * Completes changes of lanes in the background, those of new topics and those that operators left unfinished, until it is stopped.
 * Changes of partitions that operators left it reports.
 */
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
  const told = new Map<string, number>();
  while (!signal.aborted) {
    let failures = 0;
    const failed = (error: unknown): void => {
      failures += 1;
      if (!signal.aborted) report({ type: 'error', during: 'announce', error });
    };
    const unfinished = await completeChanges(
      database,
      topics,
      { timeout: tellAfterMs, signal },
      failed,
    ).catch((error: unknown) => {
      failed(error);
      return [];
    });
    if (signal.aborted) return;
    for (const { topic, waitingFor, who } of unfinished) {
      if (performance.now() - (told.get(topic) ?? -Infinity) < tellEveryMs) continue;
      told.set(topic, performance.now());
      report({ type: 'topic-waiting', topic, waitingFor, who });
    }
    for (const topic of told.keys()) if (unfinished.every((one) => one.topic !== topic)) told.delete(topic);
    if (failures > 0) await rest(againAfterMs, signal);
    // One that is left to its operator was not waited for.
    else if (unfinished.every(({ waitingFor }) => waitingFor === 'operator')) await rest(lookEveryMs, signal);
  }
}
