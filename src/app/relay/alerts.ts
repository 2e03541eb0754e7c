import { destinationsOf } from '../../alerts/destinations.ts';
import { firingRules } from '../../alerts/firing-rules.ts';
import { alertOptions, thresholdsOf } from '../../alerts/settings.ts';
import { AlertTeller } from '../../alerts/teller.ts';
import type { RelayConfig } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import type { RelayReport } from '../../relay/report.ts';
import { noteAlerts } from '../../store/alerts/alerts.ts';
import type { Database } from '../../store/database/database.ts';
import type { NotedFigures } from '../../store/figures/figures.ts';
import { installationInWords } from '../installation-in-words.ts';

export interface AlertsInput {
  readonly database: Database;
  readonly report: RelayReport;
}

/** What judges figures and tells alerts. */
export interface Alerts {
  /** How often figures are to be read. */
  readonly everyMs: number;
  /** Some relay has read the figures of the database. */
  seen(noted: NotedFigures): Promise<void>;
  start(): void;
  /** Never rejects. */
  stop(): Promise<void>;
}

/** An alert is over after this many readings without it, and a destination gets one message in as many short intervals. */
const calmReadings = 4;
/** Between two messages to a destination, at most: what is critical does not wait for seldom readings. */
const longestGapMs = 60_000;
/** Between looks for what is to be told, at most. */
const tellEveryMs = 5_000;

/**
 * The alerts of a configuration; `undefined`: it has none.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING` without the packages that its destinations need
 */
export function alertsOf(config: RelayConfig, { database, report }: AlertsInput): Alerts | undefined {
  if (config.alerts === undefined) return undefined;
  const settings = readConfig(alertOptions, config.alerts, 'alerts');
  const { again: againMs, interval: everyMs } = settings;
  const thresholds = thresholdsOf(settings);
  const teller = new AlertTeller({
    database,
    destinations: destinationsOf(settings.to),
    everyMs: Math.min(everyMs, tellEveryMs),
    gapMs: Math.min(longestGapMs, calmReadings * everyMs),
    from: installationInWords(config),
    report,
  });
  return {
    everyMs,
    async seen({ figures, number }) {
      const changes = await noteAlerts(database, number, firingRules(figures, thresholds), {
        againMs,
        calmReadings,
      });
      for (const { change, ...facts } of changes)
        report({ type: change === 'began' ? 'alert-began' : 'alert-ended', ...facts });
    },
    start: () => teller.start(),
    stop: () => teller.stop(),
  };
}
