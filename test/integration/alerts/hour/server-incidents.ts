import { awayFor, dueFor, heldFor, type Incident, type ToTell } from './incident.ts';

const minute = 60;
const refused = 'connect ECONNREFUSED 127.0.0.1:9092';
const noReport = 'It has no topic report: create it.';
const interrupted = 'GetNamespace operation failed. Error interrupted (9)';

/** Of a hold, and of what is due meanwhile. */
function held(topic: string, because: RegExp, since: number, over: number): readonly ToTell[] {
  const subject = `topic ${topic}`;
  const times = { because, since, beyond: since + minute, over };
  return [
    { rule: 'hold', subject, ...times },
    { rule: 'oldestDue', subject, ...times },
  ];
}

/** Incidents of servers that relays can tell of. */
export const serverIncidents: readonly Incident[] = [
  {
    name: '1: Kafka is away for 135 s',
    at: '13:05:17',
    seconds: 138,
    figures: (second) => {
      const topics = ['orders', 'reminder', 'report'];
      return {
        holds: topics.flatMap((topic) => heldFor(topic, second - 1, 'transport', refused)),
        due: topics.flatMap((topic) => dueFor(topic, second - 1, `lane 0 is on hold: ${refused}`)),
        servers: awayFor('kafka', 'localhost:9092', second - 1, refused),
      };
    },
    tells: [
      ...['orders', 'reminder', 'report'].flatMap((topic) => held(topic, /ECONNREFUSED/, 1, 138)),
      {
        rule: 'serverAway',
        subject: 'kafka localhost:9092',
        because: /0 of 2 relays reach it: connect ECONNREFUSED/,
        since: 16,
        beyond: 16 + minute,
        over: 138,
      },
    ],
  },
  {
    name: '2: the topic report is deleted',
    at: '13:22:16',
    seconds: 200,
    figures: (second) => ({
      holds: heldFor('report', second - 14, 'topic', noReport),
      due: dueFor('report', second - 14, `lane 0 is on hold: ${noReport}`),
      servers: [
        {
          server: 'kafka',
          address: 'localhost:9092',
          relays: 2,
          answering: 2,
          error: null,
          lacks: noReport,
          awayMs: null,
        },
      ],
    }),
    tells: held('report', /It has no topic report: create it$/, 14, 200),
  },
  {
    name: '7: Temporal is broken twice',
    at: '13:06:52',
    seconds: 428 + 180,
    figures: (second) => ({
      servers: [
        ...(second < 173 ? awayFor('temporal', 'localhost:7233', second, interrupted) : []),
        ...awayFor('temporal', 'localhost:7233', second - 428, interrupted),
      ],
      unreleasedMs: 170,
      drift: { restarted: 4, ended: 1, agoMs: 30_000 },
    }),
    tells: [0, 428].map((begin) => ({
      rule: 'serverAway',
      subject: 'temporal localhost:7233',
      because: /Error interrupted \(9\)/,
      since: begin + 15,
      beyond: begin + 15 + minute,
      over: begin === 0 ? 173 : 608,
    })),
  },
  {
    name: '21: the clock of a relay is five minutes ahead',
    at: '13:40:30',
    seconds: 120,
    figures: () => ({ clocks: [{ host: 'relay-b', aheadMs: 300_000 }] }),
    tells: [
      { rule: 'clock', subject: 'host relay-b', because: /it is ahead/, since: 0, beyond: 0, over: 120 },
    ],
  },
];
