import { shellWord } from '../../core/shell-word.ts';
import type { AlertRule } from '../figure.ts';

/** Of each host with relays; its metric has the sign. */
export const clock: AlertRule = {
  meaning: "difference between the clocks of a relay's host and of the database",
  unit: 'time',
  of: [['host']],
  measure: ({ clocks }) =>
    clocks.map(({ aheadMs, host }) => ({
      of: { host },
      figure: Math.abs(aheadMs),
      because: aheadMs > 0 ? 'it is ahead' : 'it is behind',
    })),
  metric: {
    name: 'outbox.clock.offset',
    meaning: "how far the clock of a host with relays is ahead of the database's",
    read: ({ clocks }) => clocks.map(({ aheadMs, host }) => ({ of: { host }, figure: aheadMs })),
    // That of a host without a relay does not count.
    ends: true,
  },
  threshold: 2_000,
  says: (figure, subject) =>
    `the clock of ${subject}, where a relay runs, is off the database's by ${figure}`,
  next: ({ host = '' }) => `temporal-outbox doctor # on ${shellWord(host)}`,
  prometheus: {
    severity: 'warning',
    for: '5m',
    compared: 'max by (job, host) (abs(outbox_clock_offset_seconds))',
  },
  runbook: {
    means:
      'The clock of a host differs from that of the database. Due times count by the database, but brokers may refuse records of the future.',
    causes: [
      {
        seen: 'one host',
        todo: 'Start its time service (`chronyc tracking`, `timedatectl`), and let it step the clock.',
      },
      {
        seen: 'all hosts by the same amount',
        todo: 'It is the clock of PostgreSQL: correct that one, slowly.',
      },
    ],
    avoid: 'set back the clock of PostgreSQL by hours in one step: what is due is delayed by as much.',
  },
};
