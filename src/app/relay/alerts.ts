import { hostname } from 'node:os';
import type { RelayConfig } from '../../config/config.ts';
import { databaseOf } from '../../config/database-config.ts';
import { readConfig } from '../../config/read-config.ts';
import { addressOfDatabase } from '../../core/database-address.ts';
import type { RelayReport } from '../../relay/report.ts';
import { noteAlerts } from '../../store/alerts/alerts.ts';
import type { Database } from '../../store/database/database.ts';
import type { NotedFigures } from '../../store/figures/figures.ts';
import { AlertCalls } from '../../watch/alert-calls.ts';
import { destinationsOf } from '../../watch/destinations.ts';
import { firingRules } from '../../watch/firing-rules.ts';
import { OutageTeller } from '../../watch/outage-teller.ts';
import { alertOptions, thresholdsOf } from '../../watch/settings.ts';
import { AlertTeller } from '../../watch/teller.ts';
import { installationInWords } from '../installation-in-words.ts';
import { LastSilence } from './last-silence.ts';
import { groupLooksOf } from './watched-groups.ts';

export interface AlertsInput {
  readonly database: Database;
  readonly report: RelayReport;
}

/** Watches groups, judges figures, sends alerts and calls `onAlert`. */
export interface Alerts {
  /** How often figures are to be read. */
  readonly everyMs: number;
  /** This relay has looked whether the database answers. @param error why it does not; `null`: it does */
  databaseLooked(error: string | null): void;
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
/** Between looks for alerts to send, at most. */
const tellEveryMs = 5_000;

/**
 * The alerts of a configuration; `undefined`: it has none.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING` without the packages that its destinations need
 */
export function alertsOf(config: RelayConfig, { database, report }: AlertsInput): Alerts | undefined {
  const { onAlert } = config;
  if (config.alerts === undefined && onAlert === undefined) return undefined;
  const settings = readConfig(alertOptions, config.alerts ?? {}, 'alerts');
  const { again: againMs, interval: everyMs } = settings;
  const thresholds = thresholdsOf(settings);
  const destinations = destinationsOf(settings.to);
  const from = installationInWords(config);
  const lookEveryMs = Math.min(everyMs, tellEveryMs);
  const groups = groupLooksOf(config, settings, { database, report });
  const calls = onAlert && new AlertCalls({ database, onAlert, everyMs: lookEveryMs, report });
  const teller = new AlertTeller({
    database,
    destinations,
    everyMs: lookEveryMs,
    gapMs: Math.min(longestGapMs, calmReadings * everyMs),
    from,
    report,
  });
  const silence = new LastSilence(database, 'serverAway');
  const outages = new OutageTeller({
    server: { server: 'PostgreSQL', address: addressOfDatabase(databaseOf(config.database).url).address },
    asker: `the relay on ${hostname()}`,
    destinations,
    thresholdMs: thresholds.serverAway,
    againMs,
    calmLooks: calmReadings,
    silenced: () => silence.lasts(),
    from,
    report,
  });
  return {
    everyMs,
    databaseLooked(error) {
      if (error === null) void silence.look();
      outages.looked(error);
    },
    async seen({ figures, number }) {
      const changes = await noteAlerts(database, number, firingRules(figures, thresholds), {
        againMs,
        calmReadings,
      });
      for (const { change, ...facts } of changes)
        report({ type: change === 'began' ? 'alert-began' : 'alert-ended', ...facts });
    },
    start() {
      groups?.start();
      calls?.start();
      teller.start();
    },
    async stop() {
      await Promise.all([groups?.stop(), calls?.stop(), teller.stop(), outages.stop()]);
    },
  };
}
