import type { AlertRule, ExportedFigure, Figure } from './figure.ts';
import { archiveBehind } from './figures/archive.ts';
import { certificate } from './figures/certificate.ts';
import { clock } from './figures/clock.ts';
import * as counts from './figures/counts.ts';
import { drift } from './figures/drift.ts';
import { failed } from './figures/failed.ts';
import { hold } from './figures/hold.ts';
import { lag } from './figures/lag.ts';
import { lateness } from './figures/lateness.ts';
import { noConsumer } from './figures/no-consumer.ts';
import { oldestDue } from './figures/oldest-due.ts';
import { parked } from './figures/parked.ts';
import { pausedAddress } from './figures/paused-address.ts';
import { receipts } from './figures/receipts.ts';
import { serverAway } from './figures/server-away.ts';
import { stalledGroup } from './figures/stalled-group.ts';
import { successRate } from './figures/success-rate.ts';
import { unannounced } from './figures/unannounced.ts';

/** Every figure that somebody is told of, by the name of its setting. Rules, metrics, Prometheus rules and pages are made of it. */
export const alertRules = {
  oldestDue,
  unannounced,
  successRate,
  lateness,
  failed,
  hold,
  receipts,
  parked,
  lag,
  noConsumer,
  pausedAddress,
  stalledGroup,
  drift,
  archive: archiveBehind,
  clock,
  serverAway,
  certificate,
} satisfies Readonly<Record<string, AlertRule>>;

/** Name of a rule, and of its setting. */
export type AlertRuleName = keyof typeof alertRules;

/** All names. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table
export const alertRuleNames = Object.keys(alertRules) as readonly AlertRuleName[];

/** The threshold of each rule, in its unit; `false`: it is off. */
export type AlertThresholds = Readonly<Record<AlertRuleName, number | false>>;

const figures: Readonly<Record<string, Figure>> = { ...alertRules, ...counts };

/** Those that are exported, judged or not, by name. */
export const exportedFigures: Readonly<Record<string, ExportedFigure>> = Object.fromEntries(
  Object.entries(figures).filter((entry): entry is [string, ExportedFigure] => entry[1].metric !== undefined),
);
