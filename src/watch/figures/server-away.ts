import { commandLine } from '../commands.ts';
import type { AlertRule } from '../figure.ts';
import { minute } from '../units.ts';

/** As relays report it, and for PostgreSQL as each relay sees it for itself. */
export const serverAway: AlertRule = {
  meaning: 'how long PostgreSQL, Temporal or a broker has not answered some relay',
  unit: 'time',
  of: [['server', 'address']],
  measure: ({ servers }) =>
    servers.map(({ address, answering, awayMs, error, relays, server }) => ({
      of: { server, address },
      figure: awayMs ?? 0,
      because: `${answering} of ${relays} relays reach it: ${error}`,
    })),
  threshold: minute,
  lasts: true,
  says: (figure, subject) => `${subject} has been away for ${figure}`,
  next: () => commandLine.doctor,
  // By the relays themselves: without PostgreSQL nobody reads figures.
  prometheus: {
    severity: 'critical',
    labels: ['server'],
    lasting: 'min by (job, server) (outbox_server_up) == 0',
  },
  runbook: {
    means:
      'A relay gets no answer from this server. Without PostgreSQL services cannot send, and nothing is delivered or handled, which each relay tells by itself; without a broker its topics are on hold; without Temporal relays deliver themselves, and bulk operations, archive and repairs wait.',
    causes: [
      { seen: 'no relay reaches it', todo: 'Restore the server. Relays continue by themselves.' },
      {
        seen: 'only some relays reach it',
        todo: 'It is the network or the name service of those hosts: move or stop these relays; the others take their lanes.',
      },
      {
        seen: '`doctor` reaches it',
        todo: 'It runs elsewhere than relays do: run it on a host of a relay.',
      },
    ],
    avoid:
      'restart relays, or restore a copy of PostgreSQL while the original may come back: relays continue by themselves.',
  },
};
