import { Loop } from '../../core/loop.ts';
import { completeChanges, type UnfinishedTopic } from '../../operations/announce.ts';
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
  const told = new Map<string, number>();
  const rounds = new Loop(async (stopping) => {
    let failures = 0;
    const failed = (error: unknown): void => {
      failures += 1;
      if (!stopping.aborted) report({ type: 'error', during: 'announce', error });
    };
    const within = { timeout: tellAfterMs, signal: stopping };
    const unfinished = await completeChanges(database, topics, within, failed).catch((error: unknown) => {
      failed(error);
      return [];
    });
    if (!stopping.aborted) tell(unfinished, told, report);
    if (failures > 0) return againAfterMs;
    // One that is left to its operator was not waited for.
    return unfinished.every(({ waitingFor }) => waitingFor === 'operator') ? lookEveryMs : 0;
  });
  rounds.start();
  return rounds;
}

/** @param told when each topic was last reported */
function tell(unfinished: readonly UnfinishedTopic[], told: Map<string, number>, report: RelayReport): void {
  for (const { topic, waitingFor, who } of unfinished) {
    if (performance.now() - (told.get(topic) ?? -Infinity) < tellEveryMs) continue;
    told.set(topic, performance.now());
    report({ type: 'topic-waiting', topic, waitingFor, who });
  }
  for (const topic of told.keys()) if (unfinished.every((one) => one.topic !== topic)) told.delete(topic);
}
