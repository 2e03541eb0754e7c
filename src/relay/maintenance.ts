import type { BulkRunner } from '../bulk/bulk-runner.ts';
import type { RetentionRules } from '../core/retention.ts';
import type { Database } from '../store/database/database.ts';
import { answerQuestion, type PlaceAnswer } from '../store/installation/twin.ts';
import { applyRetention, type RetentionOutcome } from '../store/retention/retention.ts';
import { Progress } from '../store/retention/turns.ts';
import { createRelayBulkRunner } from './bulk.ts';
import type { AskPlace, Repeater, WorkflowCensus } from './ports.ts';
import { type Reconciliation, reconcileWorkflows } from './reconcile.ts';
import type { RelayReport } from './report.ts';
import { createSchedules, type Schedules } from './schedules.ts';
import { reportTwin } from './twin.ts';

/** Periodic maintenance of an installation. Any number of relays may run it, even concurrently. */
export interface Maintenance {
  /** Moves finished messages to the history and drops what has expired. */
  archive(signal: AbortSignal, progress: () => void): Promise<RetentionOutcome>;
  /** Compares rows with workflows, and repairs; looks for a twin of this database. */
  reconcile(signal: AbortSignal, progress: () => void): Promise<Reconciliation>;
  /** Answers whether this relay's database contains a question that another relay has written to its own. */
  answerPlace(question: string): Promise<PlaceAnswer>;
  /** Runs bulk operations on outbox messages. */
  readonly bulk: BulkRunner;
  /** Writes repeating messages. */
  readonly schedules: Schedules;
}

export interface MaintenanceInput {
  readonly database: Database;
  readonly census: WorkflowCensus;
  readonly repeater: Repeater;
  readonly askPlace: AskPlace;
  readonly retention: RetentionRules;
  /** Names of the topics whose failures this relay reports to `onFailed`. */
  readonly tellingOf: readonly string[];
  readonly report: RelayReport;
  /** How long a round of the archive may take. @defaultValue 240,000 */
  readonly archiveWithinMs?: number;
}

/** Binds the tasks to their dependencies, and reports what they did. */
export function createMaintenance(input: MaintenanceInput): Maintenance {
  const {
    database,
    census,
    askPlace,
    repeater,
    retention,
    tellingOf,
    report,
    archiveWithinMs: withinMs,
  } = input;
  const from = new Progress();
  return {
    answerPlace: (question) => answerQuestion(database, question),
    bulk: createRelayBulkRunner(database, report),
    schedules: createSchedules({ database, repeater, report }),
    async archive(signal, progress) {
      const outcome = await applyRetention({
        database,
        rules: retention,
        signal,
        progress,
        from,
        tellingOf,
        ...(withinMs !== undefined && { withinMs }),
      });
      report({ type: 'archived', count: outcome.archived });
      if (!outcome.complete && !signal.aborted) report({ type: 'archive-behind', count: outcome.archived });
      return outcome;
    },
    async reconcile(signal, progress) {
      const result = await reconcileWorkflows({ database, census, signal, progress });
      report({ type: 'reconciled', restarted: result.restarted, ended: result.ended });
      await reportTwin({ database, ask: askPlace, signal, progress }, report);
      return result;
    },
  };
}
