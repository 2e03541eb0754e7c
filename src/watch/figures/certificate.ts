import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** Of the servers that relays reach by TLS. */
export const certificate: AlertRule = {
  meaning: 'how long the certificates of a server reached by TLS, and of relays for it, are still valid',
  unit: 'time',
  of: [['server', 'address']],
  measure: ({ certificates }) =>
    certificates.map(({ address, leftMs, server, whose }) => ({
      of: { server, address },
      figure: leftMs,
      because: whose === 'client' ? 'it is that of the relays' : 'it is that of the server',
    })),
  metric: { name: 'outbox.certificate.left', by: ['server'] },
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
      'A certificate ends soon or has ended. Open connections may live on; new ones are refused from then on, so everything stands after the next restart.',
    causes: [
      {
        seen: 'it is that of the server',
        todo: 'Renew it there, and have the server load it. Relays notice within ten minutes.',
      },
      {
        seen: 'it is that of the relays',
        todo: 'Renew the file, and restart relays and consumers one by one: they read it once, at the start.',
      },
    ],
    avoid: 'turn off the check of certificates.',
  },
};
