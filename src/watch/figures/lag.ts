import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';

/** Where the broker knows it. */
export const lag: AlertRule = {
  meaning: 'messages of a topic that a group has not read',
  unit: 'messages',
  of: [['group', 'topic']],
  measure: ({ lags }) =>
    lags.map(({ group, messages, topic }) => ({ of: { group, topic }, figure: messages })),
  metric: { name: 'outbox.group.lag.messages' },
  threshold: 10_000,
  says: (figure, subject) => `${subject} is ${figure} behind`,
  next: () => commandLine.status,
  prometheus: { severity: 'warning', for: '10m' },
  runbook: {
    means:
      'The group has not read so many published messages. They are late; none is lost within the retention of the broker.',
    causes: [
      { seen: 'it has no consumer', todo: 'See [noConsumer](#noconsumer).' },
      { seen: 'one of its addresses is paused', todo: 'See [pausedAddress](#pausedaddress).' },
      {
        seen: 'it falls',
        todo: 'Wait. After a replay or a rewind: `temporal-outbox alerts silence lag --for 2h`.',
      },
      {
        seen: 'it rises',
        todo: 'Start consumers, up to the number of partitions; then make handlers faster, or let them take batches.',
      },
    ],
    avoid: 'set offsets to the end: what is skipped has no effect, for good.',
  },
};
