import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Of the certificates that the configuration of relays loads. */
export const certificate: AlertRule = {
  meaning: 'how long the certificates that relays load, their own and those of authorities, are still valid',
  unit: 'time',
  of: [['server', 'whose']],
  measure: ({ certificates }) =>
    certificates.map(({ leftMs, server, whose }) => ({
      of: { server, whose },
      figure: leftMs,
      because: whose === 'client' ? 'relays show it' : 'relays trust it',
    })),
  metric: { name: 'outbox.certificate.left' },
  threshold: 14 * 24 * 60 * minute,
  below: true,
  says: (figure, subject) =>
    figure.startsWith('-')
      ? `a certificate for ${subject} has expired, ${figure.slice(1)} ago`
      : `a certificate for ${subject} expires in ${figure}`,
  next: () => commandLine.doctor,
  prometheus: { severity: 'warning', for: '15m' },
  runbook: {
    means:
      'A certificate that relays load ends soon or has ended. Open connections may live on; new ones are refused from then on, so everything stands after the next restart.',
    causes: [
      {
        seen: '`client`: relays show it',
        todo: 'Renew the file, and restart relays and consumers one by one: they read it once, at the start.',
      },
      {
        seen: '`authority`: relays trust what it has signed',
        todo: 'Put that of its successor beside it, restart likewise, and renew the certificates of servers. Take out one that signs nothing any more.',
      },
    ],
    avoid: 'turn off the check of certificates.',
  },
};
