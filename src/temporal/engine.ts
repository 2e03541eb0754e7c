import { Client } from '@temporalio/client';
import type { WorkflowStarter } from '../relay/ports.ts';
import type { Relay } from '../relay/relay.ts';
import { connectTemporal, type TemporalAddress } from './connection.ts';
import { quietRuntime } from './runtime.ts';
import { hasSearchAttributes } from './search-attributes.ts';
import { createWorkflowStarter } from './workflow-starter.ts';
import { createWorkers, type WorkersInput } from './workers.ts';

export type WorkerExtras = WorkersInput['extra'];

/** Temporal, as a relay uses it. */
export interface Engine {
  /** False when the namespace does not know the search attributes: workflows carry a memo instead. */
  readonly searchAttributes: boolean;
  /** Starts the workflows of one installation. */
  starter(installation: string): WorkflowStarter;
  /** Runs the workers of a relay. */
  host(relay: Relay, installation: string, lanes: number): Promise<Hosted>;
  close(): Promise<void>;
}

export interface Hosted {
  /** Resolves after a stop; rejects when a worker failed for good. */
  readonly done: Promise<void>;
  /** Ends the workers: drains settle, free their lanes and return first. */
  stop(): Promise<void>;
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
    host: async (relay, installation, lanes) => {
      const { namespace } = target;
      const workers = await createWorkers({ connection, namespace, installation, relay, lanes, extra });
      const done = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
      return {
        done,
        stop: async () => {
          for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
          // Why a worker failed is told by `done`.
          await done.catch(() => undefined);
        },
      };
    },
  };
}
