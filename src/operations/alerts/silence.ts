import type { Duration } from '../../core/duration.ts';
import { duration, oneOf } from '../../core/options/values.ts';
import { silenceRule } from '../../store/alerts/silences.ts';
import type { Database } from '../../store/database/database.ts';
import { authorOf, type OperationOptions, optionOf } from '../operation-options.ts';

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
