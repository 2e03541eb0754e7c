import { dueFor, type Incident } from './incident.ts';

const minute = 60;

/** What fails is given up at once, eight a second, and sent again after five minutes. */
const refused = (second: number): number => Math.min(451, 8 * Math.max(0, second));

/** Incidents of messages on their way to the broker that relays can tell of. */
export const deliveryIncidents: readonly Incident[] = [
  {
    name: '4: a wrong deployment sends a topic that no relay delivers',
    at: '13:09:38',
    seconds: 1_200,
    figures: (second) => ({ due: dueFor('order-lines', second, null, false) }),
    tells: [
      {
        rule: 'unannounced',
        subject: 'topic order-lines',
        because: /add it to `topics`/,
        since: 0,
        beyond: minute,
        over: 1_200,
      },
    ],
  },
  {
    name: '12: a partner refuses 451 messages, and 49 wait behind a key',
    at: '13:19:33',
    seconds: 360,
    figures: (second) => ({
      messages:
        second >= 315
          ? []
          : [
              { topic: 'invoice', state: 'failed', messages: refused(second) },
              { topic: 'invoice', state: 'blocked', messages: 49 },
            ],
      // What failed five minutes ago counts no more.
      tries: { published: 0, failed: refused(second) - refused(second - 300) },
    }),
    tells: [
      {
        rule: 'failed',
        subject: 'topic invoice',
        because: /messages of topic invoice failed and wait for a person/,
        since: 1,
        beyond: 1,
        over: 315,
      },
      {
        rule: 'successRate',
        subject: '',
        because: /\d+ of [\d,]+ tries failed$/,
        since: 2,
        beyond: 2,
        over: 355,
      },
    ],
  },
  {
    name: '14: a message is larger than its topic allows, for half a minute',
    at: '13:22:07',
    seconds: 34,
    figures: (second) => ({
      messages: second < 1 ? [] : [{ topic: 'bulletin', state: 'failed', messages: 1 }],
    }),
    tells: [
      {
        rule: 'failed',
        subject: 'topic bulletin',
        because: /1 message of topic bulletin failed/,
        since: 1,
        beyond: 1,
        over: 34,
      },
    ],
  },
  {
    name: '23: a transaction locks the rows of lanes for 80 s',
    at: '13:56:00',
    seconds: 80,
    figures: (second) => ({ due: dueFor('orders', second, 'lane 2 is locked by pid 31521 ("psql")') }),
    tells: [
      {
        rule: 'oldestDue',
        subject: 'topic orders',
        because: /lane 2 is locked by pid 31521 \("psql"\)$/,
        since: 0,
        beyond: minute,
        over: 80,
      },
    ],
  },
  {
    name: '24: lanes are locked, and of another topic messages lie for 20 minutes (4)',
    at: '13:26:00',
    seconds: 120,
    figures: (second) => ({ due: dueFor('orders', second, 'lane 0 is locked by pid 4711') }),
    tells: [
      {
        rule: 'oldestDue',
        subject: 'topic orders',
        because: /lane 0 is locked by pid 4711$/,
        since: 0,
        beyond: minute,
        over: 120,
      },
    ],
  },
];
