import { type ListedAlert, readAlerts } from '../../store/alerts/alerts.ts';
import { type AlertDestination, readDestinations } from '../../store/alerts/destinations.ts';
import { type AlertSilence, readSilences } from '../../store/alerts/silences.ts';
import type { Database } from '../../store/database/database.ts';
import { readFiguresNote } from '../../store/figures/figures-look.ts';

export type { AlertDestination, AlertSilence, ListedAlert };

/** The alerts of an installation. */
export interface AlertStatus {
  /** Milliseconds since a relay last read the figures; `null`: never. Without a relay that has the setting `alerts` nothing is judged. */
  readonly readMs: number | null;
  /** Those that fire, the oldest first, then those that have ended within a day. */
  readonly alerts: readonly ListedAlert[];
  /** Silenced rules. */
  readonly silences: readonly AlertSilence[];
  /** Where relays have sent alerts, or tried to. */
  readonly destinations: readonly AlertDestination[];
}

/** What `alerts` shows. */
export async function alertStatus(database: Database): Promise<AlertStatus> {
  return {
    readMs: (await readFiguresNote(database))?.agoMs ?? null,
    alerts: await readAlerts(database),
    silences: await readSilences(database),
    destinations: await readDestinations(database),
  };
}
