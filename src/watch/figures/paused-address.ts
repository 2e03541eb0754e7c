import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** 0 of a group that pauses none. */
export const pausedAddress: AlertRule = {
  meaning: 'how long the breaker of a consumer has paused an address, because most of its keys fail',
  unit: 'time',
  of: [['group', 'address']],
  measure: ({ attended, pausedAddresses }) => [
    ...pausedAddresses.map(({ address, error, group, pausedMs }) => ({
      of: { group, address },
      figure: pausedMs,
      because: error,
    })),
    ...attended.map(({ group }) => ({ of: { group }, figure: 0 })),
  ],
  metric: { name: 'outbox.group.paused.age', by: ['group'] },
  threshold: 2 * minute,
  lasts: true,
  says: (figure, subject) => `${subject} has been paused for ${figure}: a dependency of its handlers fails`,
  next: () => commandLine.status,
  prometheus: {
    severity: 'warning',
    for: '1m',
    summary:
      'A consumer of group {{ $labels.group }} has paused an address for {{ $value | humanizeDuration }}: a dependency of its handlers fails.',
  },
  runbook: {
    means:
      'Most keys of the address fail, so a consumer has stopped reading it. No try is spent. It probes with single messages, and goes on at the first success.',
    causes: [
      {
        seen: 'the error names a host or a refused connection',
        todo: 'Restore that dependency. There is nothing else to do.',
      },
      { seen: 'an error of code since a deployment', todo: 'Roll back the consumer.' },
    ],
    avoid: 'restart consumers again and again or raise `breaker.keys`: messages would be parked instead.',
  },
};
