import type { ExportedFigure } from '../figure.ts';

/** Messages of the outbox; `failed` judges those that have failed. */
export const messages: ExportedFigure = {
  meaning: 'messages that are not finished, by state',
  unit: 'messages',
  of: [['topic', 'state']],
  measure: (figures) =>
    figures.messages.map(({ messages: figure, state, topic }) => ({ of: { topic, state }, figure })),
  metric: {
    name: 'outbox.messages',
    // A topic that is not read any more has none.
    ends: true,
    watch: {
      when: '`state="failed"` above 0',
      todo: '`temporal-outbox list --state failed`, then `retry`, `edit` or `discard`.',
    },
  },
};

export const parkedMessages: ExportedFigure = {
  meaning: 'messages that a group keeps for a later try',
  unit: 'messages',
  of: [['group']],
  measure: ({ groups }) => groups.map(({ group, parked: figure }) => ({ of: { group }, figure })),
  metric: { name: 'outbox.parked.messages' },
};

export const parkedKeys: ExportedFigure = {
  meaning: 'keys with kept messages',
  unit: 'keys',
  of: [['group']],
  measure: ({ groups }) => groups.map(({ group, parkedKeys: figure }) => ({ of: { group }, figure })),
  metric: { name: 'outbox.parked.keys' },
};

/** `failed` judges it. */
export const parkedFailed: ExportedFigure = {
  meaning: 'messages that a group has given up: a person decides',
  unit: 'messages',
  of: [['group']],
  measure: ({ groups }) => groups.map(({ failed: figure, group }) => ({ of: { group }, figure })),
  metric: {
    name: 'outbox.parked.failed',
    watch: {
      when: 'above 0',
      todo: '`temporal-outbox inbox list --group … --state failed`, then `retry`, `edit` or `discard`.',
    },
  },
};

export const consumers: ExportedFigure = {
  meaning: 'consumers of the group that run',
  unit: 'consumers',
  of: [['group']],
  measure: ({ attended }) => attended.map(({ consumers: figure, group }) => ({ of: { group }, figure })),
  metric: {
    name: 'outbox.group.consumers',
    watch: { when: '0 while it lags', todo: 'Start one: nothing is handled.' },
  },
};

/** `receipts` judges for how long. */
export const receiptsOverdue: ExportedFigure = {
  meaning: 'published messages whose receipt is late',
  unit: 'messages',
  of: [['topic']],
  measure: (figures) =>
    figures.receiptsOverdue.map(({ messages: figure, topic }) => ({ of: { topic }, figure })),
  metric: {
    name: 'outbox.receipts.overdue',
    ends: true,
    watch: {
      when: 'above 0',
      todo: 'The group has passed messages without confirming them: `temporal-outbox show <id>`.',
    },
  },
};

export const relays: ExportedFigure = {
  meaning: 'relays that run',
  unit: 'relays',
  of: [[]],
  measure: (figures) => [{ of: {}, figure: figures.relays }],
  metric: { name: 'outbox.relays', watch: { when: '0', todo: 'Start a relay: nothing is delivered.' } },
};
