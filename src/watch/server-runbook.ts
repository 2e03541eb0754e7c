import type { RunbookEntry } from './runbook-entry.ts';

/** Of what relays run on. */
export const serverRunbook = {
  drift: {
    means:
      'Rows and workflows differed, and relays have repaired that: nothing is lost or to be repaired by hand. What matters is why.',
    causes: [
      {
        seen: 'Temporal was away or restored within the hour',
        todo: 'Nothing: the alert is over after a quarter of an hour.',
      },
      {
        seen: 'somebody ends workflows in the UI of Temporal',
        todo: 'Have them use `temporal-outbox cancel`: what is terminated starts again.',
      },
      {
        seen: 'it comes again and again',
        todo: 'Look for who or what ends workflows of this namespace.',
      },
    ],
    avoid: 'start or terminate workflows by hand.',
  },
  clock: {
    means:
      'The clock of a host differs from that of the database. Due times count by the database, but brokers may refuse records of the future.',
    causes: [
      {
        seen: 'one host',
        todo: 'Start its time service (`chronyc tracking`, `timedatectl`), and let it step the clock.',
      },
      {
        seen: 'all hosts by the same amount',
        todo: 'It is the clock of PostgreSQL: correct that one, slowly.',
      },
    ],
    avoid: 'set back the clock of PostgreSQL by hours in one step: what is due is delayed by as much.',
  },
  serverAway: {
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
  certificate: {
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
} satisfies Readonly<Record<string, RunbookEntry>>;
