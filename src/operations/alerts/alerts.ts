import type { DeclaredTable } from '../declared.ts';
import { optionTexts } from '../descriptions.ts';
import { authored, meaning, shortName, span, spanForm } from '../inputs/values.ts';
import { type Silenced, type SilenceOptions, silenceAlerts } from './silence.ts';
import { type AlertStatus, alertStatus } from './status.ts';

/** Alerts of the relays, which have them if their configuration has the setting `alerts`. */
export interface AlertOperations {
  /** What fires, what is silenced, and whether it was sent. */
  list(): Promise<AlertStatus>;
  /** Silences a rule for a while; `for: 0` ends the silence. Rejects with `OUTBOX_OPTION_INVALID` for an unknown rule. */
  silence(rule: string, options: SilenceOptions): Promise<Silenced>;
}

/** The operations on the alerts of relays. */
export const alertTable = {
  list: {
    text: 'show what fires, since when, whether it was told, and what is silenced',
    overHttp: 'For a caller that is limited, only what fires of its topics.',
    role: 'viewer',
    run: ({ database }) => alertStatus(database),
  },
  silence: {
    text: 'let a rule tell nobody for a while',
    overHttp: 'Not for callers that are limited.',
    role: 'operator',
    allTopics: true,
    of: { rule: meaning(shortName, 'its name, as in the setting `alerts`') },
    options: { ...authored, for: meaning(span, optionTexts.silenceFor, spanForm) },
    run: ({ alertRules, database }, rule, options) => silenceAlerts(database, rule, options, alertRules),
  },
} satisfies DeclaredTable<AlertOperations>;
