import type { AlertRule } from './figure.ts';
import type { Label, Labels } from './labels.ts';

/** Commands that several alerts name. */
export const commandLine = { status: 'temporal-outbox status', doctor: 'temporal-outbox doctor' } as const;

/** Stands for a name: a label may be any text, which no template can quote for a shell. */
const placeholder = 'NAME';

/** The command of a rule for a thing with these labels, with `<name>` for its name. */
export function commandOf({ next }: Pick<AlertRule, 'next'>, labels: readonly Label[]): string {
  return next(labelled(labels, () => placeholder)).replaceAll(placeholder, '<name>');
}

/** The same for each kind of thing that the rule is about. */
export function commandsOf(rule: Pick<AlertRule, 'next' | 'of'>): readonly string[] {
  return [...new Set(rule.of.map((labels) => commandOf(rule, labels)))];
}

/** These labels with values. */
export function labelled(labels: readonly Label[], value: (label: Label) => string): Labels {
  return Object.fromEntries(labels.map((label) => [label, value(label)]));
}
