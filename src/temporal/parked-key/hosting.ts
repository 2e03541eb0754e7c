import { Client } from '@temporalio/client';
import type { KeyDrains, ParkedKeyWorkflows } from '../../inbox/ports.ts';
import { connectTemporal } from '../connection.ts';
import { namespaceLook } from '../namespace-look.ts';
import { quietRuntime } from '../runtime.ts';
import { hasSearchAttributes } from '../search-attributes.ts';
import type { TemporalAddress } from '../temporal-address.ts';
import { createParkedKeyStarter } from './starter.ts';
import { hostParkedKeyWorkers } from './workers.ts';

const defaultConcurrency = 10;

export interface ParkedKeysInput {
  readonly temporal: TemporalAddress;
  /** UUID of the installation in whose database the group keeps its messages. */
  readonly installation: string;
  readonly group: string;
  readonly drains: KeyDrains;
  /** May keys of this topic be seen in the Temporal UI? */
  readonly visible: (topic: string) => boolean;
  /** Parked keys that this process drains side by side, 1 or more. @defaultValue 10 */
  readonly concurrency?: number;
  /** Called with what ended the worker, which is made anew. Must not throw. */
  readonly report: (error: unknown) => void;
}

/** The workflows and the worker of a group, connected. */
export interface Hosting extends ParkedKeyWorkflows {
  close(): Promise<void>;
}

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when Temporal does not answer */
export async function openHosting(input: ParkedKeysInput, stop: AbortSignal): Promise<Hosting> {
  const { temporal, installation, group, drains, visible, report } = input;
  const { namespace } = temporal;
  quietRuntime();
  const link = await connectTemporal(temporal);
  const { connection } = link;
  try {
    const client = new Client({ connection, namespace });
    const searchAttributes = await hasSearchAttributes(client, namespace).catch(() => false);
    const concurrency = input.concurrency ?? defaultConcurrency;
    const worker = { connection, namespace, installation, group, drains, concurrency, failed: report };
    const hosted = await hostParkedKeyWorkers(worker);
    const starter = createParkedKeyStarter({ client, installation, group, visible, searchAttributes });
    const look = namespaceLook(client, () => hosted.renew(), stop);
    return {
      async start(key) {
        await starter.start(key);
        void look();
      },
      async close() {
        await hosted.stop();
        await link.close();
      },
    };
  } catch (error) {
    await link.close().catch(() => undefined);
    throw error;
  }
}
