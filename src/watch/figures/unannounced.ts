import { shellWord } from '../../core/shell-word.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Of topics that no running relay has in its configuration. */
export const unannounced: AlertRule = {
  meaning: 'age of the oldest due message of a topic that no relay delivers',
  unit: 'time',
  of: [['topic']],
  measure: ({ due }) =>
    due
      .filter(({ announced }) => !announced)
      .map(({ oldestDueMs, topic }) => ({
        of: { topic },
        figure: oldestDueMs ?? 0,
        because: 'add it to `topics`, or withdraw its messages',
      })),
  metric: { name: 'outbox.unannounced.age', ends: true },
  threshold: minute,
  lasts: true,
  says: (figure, subject) => `no relay delivers ${subject}, of which a message has been due for ${figure}`,
  next: ({ topic = '' }) => `temporal-outbox list --topic ${shellWord(topic)}`,
  prometheus: { severity: 'critical', for: '1m' },
  runbook: {
    means:
      'Messages are due of a topic that no running relay has in its configuration. They wait until one has.',
    causes: [
      {
        seen: 'a service with a new topic was deployed before the relays',
        todo: 'Add it to `topics` of their configuration, and restart them one by one.',
      },
      {
        seen: 'relays were deployed without the topic',
        todo: 'Deploy the previous configuration again.',
      },
      {
        seen: 'its name is misspelt',
        todo: 'Correct the service, and `temporal-outbox cancel --topic <name>` with a reason; then `withdraw` by ids what `list --topic <name> --state ready` shows.',
      },
    ],
    avoid: 'cancel or withdraw anything before you know whose topic it is.',
  },
};
