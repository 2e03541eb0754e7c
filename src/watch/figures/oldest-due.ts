import { endSession } from '../../core/end-session.ts';
import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Of what a relay delivers: what none delivers is {@link unannounced}. */
export const oldestDue: AlertRule = {
  meaning: 'age of the oldest message of a topic that is due and not published',
  unit: 'time',
  of: [['topic']],
  measure: ({ due }) =>
    due
      .filter(({ announced }) => announced)
      .map(({ oldestDueMs, reason, topic }) => ({
        of: { topic },
        figure: oldestDueMs ?? 0,
        ...(reason !== null && { because: reason }),
      })),
  metric: { name: 'outbox.oldest_due.age', ends: true },
  threshold: minute,
  lasts: true,
  says: (figure, subject) => `the oldest due message of ${subject} has waited for ${figure}`,
  next: () => commandLine.status,
  prometheus: { severity: 'critical', for: '1m' },
  runbook: {
    means:
      'Messages of the topic are due and not published. They are kept, and go out in their order once the cause is gone.',
    causes: [
      { seen: 'its lanes are on hold', todo: 'See [hold](#hold).' },
      {
        seen: '`locked by pid …`',
        todo: `Find out what that transaction is, then end it: ${endSession}.`,
      },
      { seen: 'it is paused', todo: '`temporal-outbox resume <topic>`, if who paused it agrees.' },
      { seen: '`no relay runs`', todo: 'Start the relays, and read the end of their logs.' },
      {
        seen: 'it waits for the rate of its topic, or for nothing, and the oldest gets older',
        todo: 'More is sent than delivered: raise `rate`, or add relays, then lanes.',
      },
      { seen: 'no relay delivers the topic', todo: 'See [unannounced](#unannounced).' },
    ],
    avoid: 'change rows by hand or restart all relays at once: that cures none of this.',
  },
};
