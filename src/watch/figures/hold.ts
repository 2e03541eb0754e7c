import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Nothing is tried meanwhile. */
export const hold: AlertRule = {
  meaning: 'how long a topic has waited for its broker or address',
  unit: 'time',
  of: [['topic']],
  measure: ({ holds }) =>
    holds.map(({ heldMs, reason, topic }) => ({ of: { topic }, figure: heldMs, because: reason })),
  threshold: minute,
  lasts: true,
  says: (figure, subject) => `${subject} has been on hold for ${figure}`,
  next: () => commandLine.status,
  prometheus: {
    severity: 'critical',
    lasting:
      'sum by (job, topic) (label_replace(outbox_holds, "topic", "$1", "messaging_destination_name", "(.*)")) > 0',
  },
  runbook: {
    means:
      'A broker, an address or a topic there cannot be used, so its lanes wait. No try is spent; they continue a second after it is back.',
    causes: [
      { seen: '`ECONNREFUSED`, no answer', todo: 'Restore the broker. There is nothing else to do.' },
      {
        seen: '`It has no topic …`',
        todo: 'Create the topic; `temporal-outbox doctor` has the command. If somebody deleted it, ask who before you go on.',
      },
      {
        seen: 'password, certificate, right',
        todo: 'Fix what the reason names: the account, its ACL, the file.',
      },
      { seen: 'too few replicas in sync', todo: 'Restore the brokers that are gone.' },
    ],
    avoid: 'lower `min.insync.replicas` or the acknowledgements: a message could be lost.',
  },
};
