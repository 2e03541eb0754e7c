import type { AlertRule } from '../figure.ts';

/** With fewer tries, one failure is a large share. */
const fewTries = 20;
const failures = 'sum by (job) (rate(outbox_attempts_failed_total[10m]))';
// A relay that has never published anything has no such counter.
const sent = `(sum by (job) (rate(messaging_client_sent_messages_total[10m])) or 0 * ${failures})`;

/** Of all topics together. */
export const successRate: AlertRule = {
  meaning: `share of the tries of the last five minutes that published, of at least ${fewTries}`,
  unit: 'share',
  of: [[]],
  measure({ tries: { failed, published } }) {
    const tries = failed + published;
    if (tries < fewTries) return [];
    return [{ of: {}, figure: published / tries, because: `${failed} of ${tries} tries failed` }];
  },
  threshold: 0.99,
  below: true,
  says: (figure) => `${figure} of the tries of the last five minutes succeeded`,
  next: () => 'temporal-outbox list --state retrying,failed',
  prometheus: {
    severity: 'warning',
    for: '5m',
    compared: `${sent} / (${sent} + ${failures})`,
    summary: '{{ $value | humanizePercentage }} of the tries of the last ten minutes succeeded.',
  },
  runbook: {
    means:
      'Many tries to publish fail. Each message is tried again as often as its topic says, and fails for good after that.',
    causes: [
      {
        seen: 'one topic, one error',
        todo: 'Its receiver or broker refuses: fix what the error names, before the messages have used up their tries.',
      },
      {
        seen: 'after a deployment',
        todo: 'Roll back the sender or the receiver, whichever was deployed.',
      },
      {
        seen: 'the cause takes longer',
        todo: '`temporal-outbox pause <topic>`: what is paused spends no try.',
      },
    ],
    avoid: 'retry while the cause is there: that spends tries.',
  },
};
