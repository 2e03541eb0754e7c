import type { Failure, HealthRecord } from '../core/health.ts';
import type { ConsumerReport, PausedAddress } from './consumer-event.ts';
import type { FailingPartition } from './intake/failing-partitions.ts';

/** Records what the events of a consumer say about its health, and passes them on. */
export function noting(health: HealthRecord, report: ConsumerReport): ConsumerReport {
  return (event) => {
    // A failure that the stop itself causes is not reported.
    if (health.state === 'stopped') return;
    if (event.type === 'waiting-for-server') health.failed(event.server, event.error, { away: true });
    if (event.type === 'workflows-failing') health.failed('Temporal', event.error);
    if (event.type === 'workflows-resumed') health.mended('Temporal');
    if (event.type === 'parked-failing') health.failed('parked keys', event.error, event);
    if (event.type === 'window-failing') health.failed('window', event.error, event);
    if (event.type === 'dead-letters-failing') health.failed('dead letters', event.error, event);
    if (event.type === 'receipts-unsent') health.failed('receipts', event.error, event);
    report(event);
  };
}

/** What is blocked at the moment, as health reports it. */
export function standing(
  partitions: readonly FailingPartition[],
  paused: readonly PausedAddress[],
): readonly Failure[] {
  return [
    ...partitions.map(({ address, partition, since, error }) => ({
      what: `partition ${address}/${partition}`,
      since,
      error,
    })),
    ...paused.map(({ address, since, error }) => ({ what: `address ${address}`, since, error })),
  ];
}
