import { shellWord } from '../../core/shell-word.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Of groups whose inbox is in this database. */
export const parked: AlertRule = {
  meaning: 'how long a message has been parked by a group',
  unit: 'time',
  of: [['group']],
  measure: ({ groups }) =>
    groups.map(({ blockedKeys, group, oldestParkedMs, parked: messages }) => ({
      of: { group },
      figure: oldestParkedMs ?? 0,
      because: `${messages} are parked, and ${blockedKeys} keys wait for a person`,
    })),
  metric: { name: 'outbox.parked.oldest.age' },
  threshold: 15 * minute,
  lasts: true,
  says: (figure, subject) => `a message of ${subject} has been parked for ${figure}`,
  next: ({ group = '' }) => `temporal-outbox inbox list --group ${shellWord(group)} --head`,
  prometheus: { severity: 'warning', for: '5m' },
  runbook: {
    means:
      'A message has failed in its handler, and is tried again since then. All later ones of its key wait behind it; other keys go on.',
    causes: [
      {
        seen: 'one message, with its error',
        todo: 'Fix handler or data, then `temporal-outbox inbox retry <id> --group <name>`. The others of its key follow in order.',
      },
      {
        seen: 'many with the same error',
        todo: 'A dependency of the handlers, or the last deployment: restore it or roll back. They are tried again by themselves.',
      },
      {
        seen: 'failed ones',
        todo: 'Their keys wait for a person: see [failed](#failed).',
      },
    ],
    avoid: 'discard it unless the later messages make sense without it.',
  },
};
