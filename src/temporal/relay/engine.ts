import { Client } from '@temporalio/client';
import { connectTemporal } from '../../brokers/workflow/client/connection.ts';
import { quietRuntime } from '../../brokers/workflow/client/runtime.ts';
import type { TemporalAddress } from '../../brokers/workflow/client/temporal-address.ts';
import type { AskPlace, Repeater, WorkflowCensus, WorkflowStarter } from '../../relay/ports.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { MaintenanceIntervals } from '../../relay/timings.ts';
import type { Hosted } from '../running-workers.ts';
import { hasSearchAttributes } from '../search-attributes.ts';
import { createPlaceAsker } from './place-asker.ts';
import { createRepeater } from './repeater.ts';
import { keepSchedules } from './schedule-keeper.ts';
import { hostWorkers, type WorkerExtras, type WorkersInput } from './workers.ts';
import { createWorkflowCensus } from './workflow-census.ts';
import { createWorkflowStarter } from './workflow-starter.ts';

export type { WorkerExtras };

/** What the workers of a relay call. */
export type HostedParts = Pick<WorkersInput, 'relay' | 'maintenance'>;

/** Temporal, as a relay uses it. */
export interface Engine {
  /** False if the namespace lacks the search attributes: workflows have a memo instead. */
  readonly searchAttributes: boolean;
  /** Starts the workflows of one installation. */
  starter(installation: string): WorkflowStarter;
  /** Knows which workflows of one installation are running. */
  census(installation: string): WorkflowCensus;
  /** Keeps the schedules of an installation's repeating messages. */
  repeater(installation: string): Repeater;
  /** Asks the relays of one installation which database they use. */
  placeAsker(installation: string): AskPlace;
  /** Runs the workers of a relay, and recreates them when they fail. */
  host(parts: HostedParts, installation: string, topics: number, report: RelayReport): Promise<Hosted>;
  /** Keeps the maintenance schedules in place, and the workers in the namespace of this name, until it is stopped. */
  keep(
    hosted: Hosted,
    installation: string,
    intervals: MaintenanceIntervals,
    report: RelayReport,
  ): { stop(): Promise<void> };
  /** Rejects, within seconds, when the server does not answer or has no such namespace. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** How long a ping waits for the answer. */
const pingWithinMs = 3_000;

/** @throws OutboxError as {@link connectTemporal} */
export async function connectEngine(
  target: TemporalAddress,
  extra: WorkerExtras | undefined,
): Promise<Engine> {
  quietRuntime();
  const link = await connectTemporal(target);
  const { connection } = link;
  const client = new Client({ connection, namespace: target.namespace });
  const searchAttributes = await hasSearchAttributes(client, target.namespace).catch(() => false);
  return {
    searchAttributes,
    starter: (installation) => createWorkflowStarter(client, installation, searchAttributes),
    ping: async () => {
      const { namespace } = target;
      await client.withDeadline(Date.now() + pingWithinMs, () =>
        client.workflowService.describeNamespace({ namespace }),
      );
    },
    close: () => link.close(),
    census: (installation) => createWorkflowCensus(client, installation),
    repeater: (installation) => createRepeater(client, installation),
    placeAsker: (installation) => createPlaceAsker(client, installation),
    host: (parts, installation, topics, report) =>
      hostWorkers({ connection, namespace: target.namespace, installation, ...parts, report, topics, extra }),
    keep: (hosted, installation, intervals, report) =>
      keepSchedules({
        client,
        installation,
        intervals,
        report,
        onNamespaceReplaced: () => hosted.renew(),
      }),
  };
}
