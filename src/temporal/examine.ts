import { Client } from '@temporalio/client';
import { connectTemporal } from '../brokers/workflow/client/connection.ts';
import { quietRuntime } from '../brokers/workflow/client/runtime.ts';
import type { TemporalAddress } from '../brokers/workflow/client/temporal-address.ts';
import { temporalFailure } from '../brokers/workflow/client/temporal-failure.ts';
import { missingSearchAttributes } from './search-attributes.ts';
import { maintenanceTaskQueue } from './task-queues.ts';

/** What a Temporal server reports about itself and a namespace. */
export interface ExaminedTemporal {
  readonly version: string;
  /** Search attributes that the namespace lacks; `undefined`: the server does not report them. */
  readonly missingAttributes: readonly string[] | undefined;
  /**
   * Milliseconds since a worker of the installation last asked for work: this machine's time minus the server's. `undefined`:
   * none has asked.
   */
  readonly polledMs: number | undefined;
}

/**
 * Connects, asks, and closes the connection. Starts nothing.
 *
 * @param installation its id, once it is known
 * @throws OutboxError as {@link connectTemporal}
 */
export async function examineTemporal(
  target: TemporalAddress,
  installation: Promise<string | undefined>,
): Promise<ExaminedTemporal> {
  quietRuntime();
  const link = await connectTemporal(target);
  try {
    const { namespace } = target;
    const client = new Client({ connection: link.connection, namespace });
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    await client.workflowService.describeNamespace({ namespace });
    return {
      version: serverVersion ?? '',
      missingAttributes: await missingSearchAttributes(client, namespace).catch(() => undefined),
      polledMs: await sincePolled(client, await installation),
    };
  } catch (error) {
    throw temporalFailure(target, error) ?? error;
  } finally {
    await link.close();
  }
}

async function sincePolled(client: Client, installation: string | undefined): Promise<number | undefined> {
  if (installation === undefined) return undefined;
  const { namespace } = client.options;
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: maintenanceTaskQueue(installation) },
  });
  const times = (pollers ?? []).map(
    ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6,
  );
  return times.length === 0 ? undefined : Date.now() - Math.max(...times);
}
