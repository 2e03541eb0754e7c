import {
  type AlertStatus,
  alertStatus,
  type Silenced,
  type SilenceOptions,
  silenceAlerts,
} from '../../operations/alerts.ts';
import type { OnDatabase } from '../../operations/operation-options.ts';
import { alertRuleNames } from '../../watch/figures.ts';

export { alertRuleNames };

/** Alerts of the relays, which have them if their configuration has the setting `alerts`. */
export interface AlertOperations {
  /** What fires, what is silenced, and whether it was sent. */
  list(): Promise<AlertStatus>;
  /** Silences a rule for a while; `for: 0` ends the silence. Rejects with `OUTBOX_OPTION_INVALID` for an unknown rule. */
  silence(rule: string, options: SilenceOptions): Promise<Silenced>;
}

/** @param on runs something on the migrated database */
export function alertOperations(on: OnDatabase): AlertOperations {
  return {
    list: () => on(alertStatus),
    silence: (rule, options) =>
      on((at) => silenceAlerts(at, rule, options, alertRuleNames), ['silence', options]),
  };
}
