import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** How late, not how old: a message may wait for days. */
export const lateness: AlertRule = {
  meaning: 'how late a delayed message, or the next try of one, is released',
  unit: 'time',
  of: [[]],
  measure: ({ unreleasedMs }) => [{ of: {}, figure: unreleasedMs ?? 0 }],
  metric: { name: 'outbox.unreleased.age' },
  threshold: minute,
  lasts: true,
  says: (figure) => `a delayed message is ${figure} late`,
  next: () => commandLine.doctor,
  prometheus: { severity: 'warning', for: '1m' },
  runbook: {
    means:
      'A delayed message, or the next try of one, has come due, and nobody has released it. It is late, not lost.',
    causes: [
      { seen: 'no relay runs', todo: 'Start the relays.' },
      {
        seen: 'a transaction locks rows, or has been open for minutes',
        todo: 'End it: the finding has its process, and the command.',
      },
      {
        seen: 'Temporal is away',
        todo: 'Relays release by themselves meanwhile: look for another cause as well.',
      },
      {
        seen: 'far more come due at once than usual',
        todo: "Wait; if that repeats, spread their times, or set `timer: 'lane'` for their topic.",
      },
    ],
    avoid: 'send these messages a second time: they will come.',
  },
};
