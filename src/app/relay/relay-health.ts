import type { OutboxError } from '../../core/errors.ts';
import type { HealthRecord } from '../../core/health.ts';
import { type Lane, laneName } from '../../core/lane.ts';
import type { RelayEvent, RelayReport } from '../../relay/report.ts';
import type { MaintenanceIntervals } from '../../relay/timings.ts';
import type { Database } from '../../store/database/database.ts';
import { readInstallation } from '../../store/installation/installation.ts';
import type { AskedServer, CheckedServer } from './relay-presence.ts';

/** Records what the events of a relay say about its health. */
export function notedBy(health: HealthRecord, intervals: MaintenanceIntervals): RelayReport {
  return (event) => {
    switch (event.type) {
      case 'batch-settled':
      case 'messages-confirmed':
        return health.progressed();
      case 'waiting-for-server':
        return health.failed(event.server, event.error, { away: true });
      case 'hold-began':
        return health.failed(nameOf(event), event.hold.reason);
      case 'hold-ended':
      case 'lane-freed':
      case 'lane-lost':
        return health.mended(nameOf(event));
      case 'temporal-away':
        return health.failed('Temporal', event.error, { away: true });
      case 'temporal-back':
        return health.mended('Temporal');
      case 'error':
        return health.failed(event.during, event.error, {
          away: event.during === 'look',
          retryInMs: retryInMs(event.during, intervals),
        });
      default:
        return undefined;
    }
  };
}

/** Records what the check of a server found. During a start, the wait for the server reports that instead. */
export function noteCheck(health: HealthRecord, { server, error, away, lacks }: CheckedServer): void {
  if (health.state === 'starting') return;
  // Apart from the server itself, which delivers everything else; nothing is known of them while it is away.
  if (lacks !== undefined) health.failed(`topics of ${server}`, lacks);
  else if (error === null) health.mended(`topics of ${server}`);
  if (error === null) health.mended(server);
  else health.failed(server, error, { away });
}

/** Records whether the tables of the database have the rows that the outbox cannot work without, and reports once that they are gone. */
export function noteRows(health: HealthRecord, report: RelayReport): (lost: OutboxError | undefined) => void {
  const what = 'tables of the outbox';
  let told = false;
  return (lost) => {
    if (lost === undefined) health.mended(what);
    else health.failed(what, lost);
    if (lost !== undefined && !told) report({ type: 'error', during: 'installation', error: lost });
    told = lost !== undefined;
  };
}

/** Checks and records whether the servers that a stop depends on answer. Never rejects. */
export async function askServers(
  database: Database,
  temporal: AskedServer,
  health: HealthRecord,
): Promise<void> {
  await Promise.allSettled([
    health.during('PostgreSQL', readInstallation(database)),
    health
      .during('Temporal', temporal.ask())
      .catch((error: unknown) => health.failed('Temporal', error, { away: true })),
  ]);
}

function nameOf(lane: Lane): string {
  return `lane ${laneName(lane)}`;
}

/** Latest time of the next try, after this failure. */
function retryInMs(
  during: (RelayEvent & { readonly type: 'error' })['during'],
  { reconcileIntervalMs }: MaintenanceIntervals,
): number {
  // Everything else is retried within seconds.
  return during === 'installation' ? reconcileIntervalMs : 5_000;
}
