import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { inUnit, minute } from '../units.ts';

/** Of a group that is only behind, a receipt is overdue for a moment, until a relay has asked how far the group is. */
export const receipts: AlertRule = {
  meaning: 'how long the receipt of a published message has been overdue',
  unit: 'time',
  of: [['topic']],
  measure: ({ receiptsOverdue }) =>
    receiptsOverdue.map(({ messages, oldestMs, topic }) => ({
      of: { topic },
      figure: oldestMs,
      because: `${inUnit('messages', messages)} of it lack theirs`,
    })),
  threshold: 10 * minute,
  lasts: true,
  says: (figure, subject) => `a receipt of ${subject} has been overdue for ${figure}`,
  next: () => commandLine.status,
  prometheus: { severity: 'warning', lasting: 'max by (job, topic) (outbox_receipts_overdue) > 0' },
  runbook: {
    means:
      'Messages are published, and the receipt of their group is late. They are sent again up to `maxSends` times, then they fail.',
    causes: [
      {
        seen: 'no consumer of the group runs, or it is behind',
        todo: 'See [noConsumer](#noconsumer) and [lag](#lag).',
      },
      {
        seen: 'the group has passed them: `temporal-outbox show <id>`',
        todo: 'Its consumer does not confirm: it needs the right to write `outbox-receipts`, and this library.',
      },
    ],
    avoid: 'delete the topic `outbox-receipts`: what it holds confirms.',
  },
};
