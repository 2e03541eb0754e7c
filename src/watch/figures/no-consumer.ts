import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { inUnit, minute } from '../units.ts';

/** Of groups whose inbox is in this database, where the broker knows what they have not read. */
export const noConsumer: AlertRule = {
  meaning: 'how long no consumer of a group has run while messages wait for it',
  unit: 'time',
  of: [['group']],
  measure: ({ attended }) =>
    attended
      .filter(({ consumers, unread }) => consumers === 0 && unread > 0)
      .map(({ group, seenMs, unread }) => ({
        of: { group },
        figure: seenMs ?? 0,
        because: `${inUnit('messages', unread)} wait for it`,
      })),
  threshold: 5 * minute,
  lasts: true,
  says: (figure, subject) => `no consumer of ${subject} has run for ${figure}`,
  next: () => commandLine.status,
  prometheus: {
    severity: 'critical',
    lasting:
      'max by (job, group) (outbox_group_consumers) == 0 and sum by (job, group) (max by (job, group, topic) (outbox_group_lag_messages)) > 0',
  },
  runbook: {
    means: 'No consumer of the group runs, and messages wait for it: none of them has an effect.',
    causes: [
      {
        seen: 'its processes have ended',
        todo: 'Read the end of their logs, and start them. After a deployment: roll back.',
      },
      {
        seen: 'its processes run',
        todo: 'They wait for a server, mostly this database: their logs say for which.',
      },
      {
        seen: 'the group is not used any more',
        todo: 'Delete it at the broker; `temporal-outbox groups` shows those that brokers keep.',
      },
    ],
    avoid: 'start it under another name: a new group begins elsewhere.',
  },
};
