import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { grownBeyond } from '../prometheus-condition.ts';
import { minute } from '../units.ts';

/** Temporal may be away since the last comparison, and one of hours ago is no news. */
const recentMs = 15 * minute;

/** What was repaired, not what is wrong. */
export const drift: AlertRule = {
  meaning: 'workflows that the last comparison with Temporal had to start or end',
  unit: 'workflows',
  of: [[]],
  measure: ({ drift: last }) =>
    last === null || last.agoMs > recentMs
      ? []
      : [
          {
            of: {},
            figure: last.restarted + last.ended,
            because: `${last.restarted} started, ${last.ended} ended`,
          },
        ],
  threshold: 10,
  says: (figure) => `the last comparison with Temporal repaired ${figure}`,
  next: () => commandLine.doctor,
  prometheus: {
    severity: 'warning',
    for: '0m',
    expr: (threshold) => grownBeyond('outbox_reconciled_total', threshold),
    summary:
      '{{ $value | humanize }} workflows were missing, or were not wanted, within 15 minutes, and were repaired: Temporal was away, or lost them.',
  },
  runbook: {
    means:
      'Rows and workflows differed, and relays have repaired that: nothing is lost or to be repaired by hand. What matters is why.',
    causes: [
      {
        seen: 'Temporal was away or restored within the hour',
        todo: 'Nothing: the alert is over after a quarter of an hour.',
      },
      {
        seen: 'somebody ends workflows in the UI of Temporal',
        todo: 'Have them use `temporal-outbox cancel`: what is terminated starts again.',
      },
      {
        seen: 'it comes again and again',
        todo: 'Look for who or what ends workflows of this namespace.',
      },
    ],
    avoid: 'start or terminate workflows by hand.',
  },
};
