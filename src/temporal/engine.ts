import { Client } from '@temporalio/client';
import type { WorkflowStarter } from '../relay/ports.ts';
import type { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import { connectTemporal, type TemporalAddress } from './connection.ts';
import { quietRuntime } from './runtime.ts';
import { hasSearchAttributes } from './search-attributes.ts';
import { createWorkflowStarter } from './workflow-starter.ts';
import { type Hosted, hostWorkers, type WorkersInput } from './workers.ts';

export type WorkerExtras = WorkersInput['extra'];

/** Temporal, as a relay uses it. */
export interface Engine {
  /** False when the namespace does not know the search attributes: workflows carry a memo instead. */
  readonly searchAttributes: boolean;
  /** Starts the workflows of one installation. */
  starter(installation: string): WorkflowStarter;
  /** Runs the workers of a relay, anew when they fail. */
  host(relay: Relay, installation: string, lanes: number, report: Report): Promise<Hosted>;
  close(): Promise<void>;
}

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when Temporal does not answer within `withinMs` */
export async function connectEngine(
  target: TemporalAddress,
  withinMs: number,
  extra: WorkerExtras,
): Promise<Engine> {
  quietRuntime();
  const connection = await connectTemporal(target, withinMs);
  const client = new Client({ connection, namespace: target.namespace });
  const searchAttributes = await hasSearchAttributes(client, target.namespace).catch(() => false);
  return {
    searchAttributes,
    starter: (installation) => createWorkflowStarter(client, installation, searchAttributes),
    close: () => connection.close(),
    host: (relay, installation, lanes, report) =>
      hostWorkers({ connection, namespace: target.namespace, installation, relay, report, lanes, extra }),
  };
}
