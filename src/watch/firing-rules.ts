import type { Firing } from '../store/alerts/alerts.ts';
import type { Figures } from '../store/figures/figures.ts';
import type { AlertRule, Measured } from './alert-rule.ts';
import { type AlertRuleName, type AlertThresholds, alertRuleNames, alertRules } from './rules.ts';
import { inUnit } from './units.ts';

/** What fires: each rule, and each of its subjects, whose figure is beyond the threshold. */
export function firingRules(figures: Figures, thresholds: AlertThresholds): readonly Firing[] {
  return alertRuleNames.flatMap((name) => {
    const rule: AlertRule = alertRules[name];
    const threshold = thresholds[name];
    if (threshold === false) return [];
    const beyond = ({ figure }: Measured): boolean =>
      rule.below === true ? figure < threshold : figure > threshold;
    return worst(rule, rule.measure(figures).filter(beyond)).map((measured) =>
      firingOf(name, measured, threshold),
    );
  });
}

/** What fires because of a figure beyond the threshold. */
export function firingOf(name: AlertRuleName, measured: Measured, threshold: number): Firing {
  const rule: AlertRule = alertRules[name];
  const { figure, subject } = measured;
  return {
    rule: name,
    subject,
    figure,
    ...(rule.lasts === true && { lastsMs: figure }),
    text: sentence(rule, measured, threshold),
    next: rule.next(subject),
  };
}

/** One entry per subject: relays with different addresses of one server, for example, report it once. */
function worst({ below = false }: AlertRule, measured: readonly Measured[]): readonly Measured[] {
  const bySubject = new Map<string, Measured>();
  for (const one of measured) {
    const before = bySubject.get(one.subject);
    if (before === undefined || (below ? one.figure < before.figure : one.figure > before.figure))
      bySubject.set(one.subject, one);
  }
  return [...bySubject.values()];
}

function sentence(rule: AlertRule, { because, figure, subject }: Measured, threshold: number): string {
  const said = rule.says(inUnit(rule.unit, figure), subject);
  // Reasons are texts of others, and may end as sentences do.
  const more = because === undefined ? '' : `; ${because.replace(/[\s.]+$/, '')}`;
  return `${said} (${rule.below === true ? 'at least' : 'at most'} ${inUnit(rule.unit, threshold)})${more}`;
}
