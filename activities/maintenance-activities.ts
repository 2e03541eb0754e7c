import type { Maintenance } from '../src/relay/maintenance.ts';
import type { Reconciliation } from '../src/relay/reconcile.ts';
import type { PlaceAnswer } from '../src/store/installation/twin.ts';
import type { RetentionOutcome } from '../src/store/retention/retention.ts';
import type { DueAnswer } from '../src/store/schedule/write-due.ts';
import { type BulkActivities, createBulkActivities } from './bulk-activities.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Activity of the workflow `archive`. */
export interface ArchiveActivities {
  /** Moves finished messages to the history and drops what has expired, for at most a few minutes. */
  archiveFinished(): Promise<RetentionOutcome>;
}

/** Activity of the workflow `reconcile`. */
export interface ReconcileActivities {
  /** Compares rows with workflows and repairs, for at most a minute. */
  reconcileWorkflows(): Promise<Reconciliation>;
}

/** Activity of the workflow `whichDatabase`. */
export interface PlaceActivities {
  /** Answers whether the database of this relay has the question. */
  answerPlace(question: string): Promise<PlaceAnswer>;
}

/** Activity of the workflow `writeScheduled`. */
export interface ScheduledActivities {
  /** Writes the message of one time of a schedule, if its row says so. @param at ISO time */
  writeScheduledMessage(name: string, at: string): Promise<DueAnswer>;
}

/** Activities of the maintenance task queue. */
export type MaintenanceActivities = ArchiveActivities &
  BulkActivities &
  PlaceActivities &
  ReconcileActivities &
  ScheduledActivities;

function createArchiveActivities(maintenance: Pick<Maintenance, 'archive'>): ArchiveActivities {
  return {
    archiveFinished: () => withHeartbeat((signal, progress) => maintenance.archive(signal, progress)),
  };
}

function createReconcileActivities(maintenance: Pick<Maintenance, 'reconcile'>): ReconcileActivities {
  return {
    reconcileWorkflows: () => withHeartbeat((signal, progress) => maintenance.reconcile(signal, progress)),
  };
}

/** What the activities of the queue call. */
export interface CalledMaintenance extends Omit<Maintenance, 'schedules'> {
  readonly schedules: Pick<Maintenance['schedules'], 'write'>;
}

/** All activities of the queue. A new task adds its own creator here. */
export function createMaintenanceActivities(maintenance: CalledMaintenance): MaintenanceActivities {
  return {
    ...createArchiveActivities(maintenance),
    ...createBulkActivities(maintenance.bulk),
    ...createReconcileActivities(maintenance),
    answerPlace: (question) => maintenance.answerPlace(question),
    writeScheduledMessage: (name, at) => maintenance.schedules.write(name, new Date(at)),
  };
}
