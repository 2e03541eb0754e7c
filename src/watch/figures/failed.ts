import { shellWord } from '../../core/shell-word.ts';
import type { AlertRule } from '../figure.ts';

/** By topic of the outbox, and by group of those that keep messages in this database. */
export const failed: AlertRule = {
  meaning: 'messages of a topic, or kept by a group, that have failed for good',
  unit: 'messages',
  of: [['topic'], ['group']],
  measure: ({ groups, messages }) => [
    ...messages
      .filter(({ state }) => state === 'failed')
      .map(({ messages: figure, topic }) => ({ of: { topic }, figure })),
    ...groups.map(({ failed: figure, group }) => ({ of: { group }, figure })),
  ],
  threshold: 0,
  says: (figure, subject) => `${figure} of ${subject} failed and wait for a person`,
  next: ({ group, topic = '' }) =>
    group === undefined
      ? `temporal-outbox list --topic ${shellWord(topic)} --state failed`
      : `temporal-outbox inbox list --group ${shellWord(group)} --state failed`,
  prometheus: {
    severity: 'warning',
    for: '0m',
    expr: (threshold) =>
      `max by (job, topic) (outbox_messages{state="failed"}) > ${threshold} or max by (job, group) (outbox_parked_failed) > ${threshold}`,
  },
  runbook: {
    means:
      'Messages have used up their tries, or can never succeed. Nothing happens to them until a person decides; they may block later ones of their keys.',
    causes: [
      {
        seen: 'the broker, the receiver or a handler was at fault',
        todo: 'Fix it, then `temporal-outbox retry --topic <name> --state failed --dry-run`, and again with `--expect <count> --wait`; for a group `temporal-outbox inbox retry --group <name> --state failed`.',
      },
      {
        seen: 'the message is at fault',
        todo: '`temporal-outbox edit <id> --payload-file <file>`, for a group `temporal-outbox inbox edit`.',
      },
      {
        seen: 'nobody needs it any more',
        todo: '`temporal-outbox discard <id>`, for a group `temporal-outbox inbox discard`.',
      },
    ],
    avoid:
      'discard only to end the alert: that is for good. `temporal-outbox alerts silence failed --for 2h` is not.',
  },
};
