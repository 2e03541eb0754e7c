import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** The tables grow meanwhile. */
export const archiveBehind: AlertRule = {
  meaning: 'how long finished messages have been due to move to the history',
  unit: 'time',
  of: [[]],
  measure: ({ archive: { behindMs, leaves } }) => [
    { of: {}, figure: behindMs, because: `${leaves} leaves wait` },
  ],
  metric: { name: 'outbox.archive.behind' },
  threshold: 24 * 60 * minute,
  lasts: true,
  says: (figure) => `the archive is ${figure} behind`,
  next: () => commandLine.doctor,
  prometheus: { severity: 'warning', for: '30m' },
  runbook: {
    means:
      'Finished messages do not move to the history. Nothing is late, but the tables grow until the disk is full.',
    causes: [
      {
        seen: 'an old transaction, a prepared one, a slot',
        todo: 'End or drop it: the finding has the command.',
      },
      { seen: 'Temporal is away, or no relay runs', todo: 'Restore it: the archive is a schedule there.' },
      {
        seen: 'none of these, and many messages are finished',
        todo: 'More is sent beside the log than it moves: [how to scale](performance.md#how-to-scale-it).',
      },
    ],
    avoid: 'delete rows or tables of the schema `outbox` to gain space.',
  },
};
