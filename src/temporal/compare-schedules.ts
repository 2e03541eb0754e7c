import { Client } from '@temporalio/client';
import { connectTemporal } from '../brokers/workflow/client/connection.ts';
import { quietRuntime } from '../brokers/workflow/client/runtime.ts';
import type { TemporalAddress } from '../brokers/workflow/client/temporal-address.ts';
import type { ScheduleDifference } from '../core/schedule-difference.ts';
import { differencesOf } from './relay/repeater.ts';

/**
 * Connects, compares the schedules of an installation with its rows, and closes the connection. Changes nothing.
 *
 * @throws OutboxError as {@link connectTemporal}; and errors of the calls that follow
 */
export async function compareSchedules(
  target: TemporalAddress,
  installation: string,
  rows: Parameters<typeof differencesOf>[2],
): Promise<ReadonlyMap<string, ScheduleDifference>> {
  quietRuntime();
  const link = await connectTemporal(target);
  try {
    const client = new Client({ connection: link.connection, namespace: target.namespace });
    return await differencesOf(client, installation, rows);
  } finally {
    await link.close();
  }
}
