import ms from 'ms';
import type { RetentionRules } from '../../core/retention.ts';
import type { Setting } from '../../store/installation/settings.ts';

/** The retention, as stored for operators. */
export function retentionInWords(rules: RetentionRules): readonly Setting[] {
  return Object.entries(rules).map(([name, value]: [string, number | null]) => ({
    name: `retention.${name.slice(0, -2)}`,
    value: value === null ? 'never' : ms(value),
  }));
}
