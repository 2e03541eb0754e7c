import type { Firing } from '../store/alerts/alerts.ts';
import type { Figures } from '../store/figures/figures.ts';
import type { AlertRule, Measured } from './figure.ts';
import { type AlertRuleName, type AlertThresholds, alertRuleNames, alertRules } from './figures.ts';
import { subjectOf } from './labels.ts';
import { inUnit } from './units.ts';
import { worst } from './worst.ts';

/** What fires: each rule, and each of its subjects, whose figure is beyond the threshold. */
export function firingRules(figures: Figures, thresholds: AlertThresholds): readonly Firing[] {
  return alertRuleNames.flatMap((name) => {
    const rule: AlertRule = alertRules[name];
    const threshold = thresholds[name];
    if (threshold === false) return [];
    const beyond = ({ figure }: Measured): boolean =>
      rule.below === true ? figure < threshold : figure > threshold;
    // Relays with different addresses of one server, for example, report it once.
    return worst(rule, rule.measure(figures).filter(beyond), subjectOf).map((measured) =>
      firingOf(name, measured, threshold),
    );
  });
}

/** What fires because of a figure beyond the threshold. */
export function firingOf(name: AlertRuleName, measured: Measured, threshold: number): Firing {
  const rule: AlertRule = alertRules[name];
  const { figure, lastsMs = figure, of } = measured;
  return {
    rule: name,
    subject: subjectOf(of),
    labels: of,
    figure,
    ...(rule.lasts === true && { lastsMs }),
    text: sentence(rule, measured, threshold),
    next: rule.next(of),
  };
}

function sentence(rule: AlertRule, { because, figure, of }: Measured, threshold: number): string {
  const said = rule.says(inUnit(rule.unit, figure), subjectOf(of));
  // Reasons are texts of others, and may end as sentences do.
  const more = because === undefined ? '' : `; ${because.replace(/[\s.]+$/, '')}`;
  return `${said} (${rule.below === true ? 'at least' : 'at most'} ${inUnit(rule.unit, threshold)})${more}`;
}
