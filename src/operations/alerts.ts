import type { Duration } from '../core/duration.ts';
import { duration, oneOf } from '../core/options/values.ts';
import { type ListedAlert, readAlerts } from '../store/alerts/alerts.ts';
import { type AlertDestination, readDestinations } from '../store/alerts/destinations.ts';
import { type AlertSilence, readSilences, silenceRule } from '../store/alerts/silences.ts';
import type { Database } from '../store/database/database.ts';
import { readFiguresNote } from '../store/figures/figures-look.ts';
import { authorOf, type OperationOptions, optionOf } from './operation-options.ts';

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

/** Options of a silence. */
export interface SilenceOptions extends OperationOptions {
  /** For how long, 0 to 30 days; 0 ends a silence. */
  readonly for: Duration;
}

/** Result of a silence. */
export interface Silenced {
  /** `null`: the silence has ended. */
  readonly until: Date | null;
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

/**
 * Silences a rule for a while.
 *
 * @param rules names of all rules
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export async function silenceAlerts(
  database: Database,
  rule: string,
  options: SilenceOptions,
  rules: readonly string[],
): Promise<Silenced> {
  const name = optionOf('rule', oneOf(rules), rule);
  const forMs = optionOf('for', duration(0, '30 days'), options.for);
  const until = await silenceRule(database, name, forMs, authorOf(options), options.dryRun ?? false);
  return { until };
}
