import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

const lagging = 'max by (job, group, topic) (outbox_group_lag_messages)';

/** Of every group that is watched, whosever program it is. */
export const stalledGroup: AlertRule = {
  meaning: 'how long a group has stood at one message of a partition while others wait',
  unit: 'time',
  of: [['group', 'topic']],
  measure: ({ standing }) =>
    standing.map(({ group, sinceMs, standsMs, topic }) => ({
      of: { group, topic },
      figure: standsMs,
      lastsMs: sinceMs,
    })),
  threshold: 15 * minute,
  lasts: true,
  says: (figure, subject) => `${subject} has not moved for ${figure}, and messages wait for it`,
  next: () => commandLine.status,
  prometheus: {
    severity: 'critical',
    lasting: `${lagging} > 0 and ${lagging} >= max by (job, group, topic) (max_over_time(outbox_group_lag_messages[15m]))`,
  },
  runbook: {
    means: 'The group stands at one message of a partition, and others wait behind it.',
    causes: [
      { seen: 'it has no consumer', todo: 'See [noConsumer](#noconsumer).' },
      { seen: 'one of its addresses is paused', todo: 'See [pausedAddress](#pausedaddress).' },
      {
        seen: '`OUTBOX_HANDLER_STUCK` in the log of its consumer',
        todo: 'A handler waits without a limit of time: end what it waits for, or restart that consumer.',
      },
      {
        seen: '`partition-paused` in that log',
        todo: 'A message can neither be handled nor kept: check the database of the consumer, and keys with long queues: `temporal-outbox inbox list`.',
      },
      {
        seen: 'a group of another program',
        todo: 'Its owners must look: nothing here can move it.',
      },
    ],
    avoid: 'move its offset past the message: that skips it for good.',
  },
};
