import { Client } from '@temporalio/client';
import { connectTemporal } from '../../brokers/workflow/client/connection.ts';
import { quietRuntime } from '../../brokers/workflow/client/runtime.ts';
import type { TemporalAddress } from '../../brokers/workflow/client/temporal-address.ts';
import type { ParkedKeysPlan } from '../../inbox/consumer-plan.ts';
import type { BulkWorkflows, ParkedKeyWorkflows } from '../../inbox/ports.ts';
import { namespaceLook } from '../namespace-look.ts';
import { hasSearchAttributes } from '../search-attributes.ts';
import { createBulkStarter, createParkedKeyStarter } from './starter.ts';
import { hostKeptBulkWorkers, hostParkedKeyWorkers } from './workers.ts';

export interface ParkedKeysInput extends ParkedKeysPlan {
  readonly temporal: TemporalAddress;
  /** Whether the Temporal UI may show keys of this topic. */
  readonly visible: (topic: string) => boolean;
}

/** The workflows and the worker of a group, connected. */
export interface Hosting extends ParkedKeyWorkflows {
  readonly bulks: BulkWorkflows;
  close(): Promise<void>;
}

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when Temporal does not answer */
export async function openHosting(input: ParkedKeysInput, stop: AbortSignal): Promise<Hosting> {
  const { temporal, installation, group, visible } = input;
  const { namespace } = temporal;
  quietRuntime();
  const link = await connectTemporal(temporal);
  const { connection } = link;
  try {
    const client = new Client({ connection, namespace });
    const searchAttributes = await hasSearchAttributes(client, namespace).catch(() => false);
    const worker = { ...input, connection, namespace };
    const keyWorkers = await hostParkedKeyWorkers(worker);
    const hosted = [keyWorkers];
    // Created on demand: hardly any consumer needs it.
    let bulks: Promise<void> | undefined;
    const hostBulks = async (): Promise<void> => void hosted.push(await hostKeptBulkWorkers(worker));
    const starter = createParkedKeyStarter({ client, installation, group, visible, searchAttributes });
    const startBulk = createBulkStarter({ client, installation, group });
    const renewAll = (): void => {
      for (const one of hosted) one.renew();
    };
    const look = namespaceLook(client, renewAll, stop);
    return {
      check: () => starter.check(),
      hosting: () => keyWorkers.running(),
      async start(key) {
        await starter.start(key);
        void look();
      },
      bulks: {
        host: () =>
          (bulks ??= hostBulks().catch((error: unknown) => {
            bulks = undefined;
            throw error;
          })),
        async start(one) {
          await startBulk(one);
          void look();
        },
      },
      async close() {
        await bulks?.catch(() => undefined);
        await Promise.all(hosted.map((one) => one.stop()));
        await link.close();
      },
    };
  } catch (error) {
    await link.close().catch(() => undefined);
    throw error;
  }
}
