import { billing, dueFor, type Incident, type Untold } from './incident.ts';

const act = 'an act of a person, and nothing is wrong: the audit has it';
const unread = 'nobody reads figures meanwhile';

/** What is read meanwhile: by default what is read of a healthy installation. */
type Reading = Partial<Pick<Incident, 'blind' | 'figures' | 'seconds'>>;

function untold(
  at: string,
  name: string,
  { signs = [], harmless = false, ...known }: Partial<Untold> & Pick<Untold, 'why'>,
  { figures = () => ({}), seconds = 1, blind = false }: Reading = {},
): Incident {
  return { at, name, seconds, blind, figures, tells: [], untold: { ...known, signs, harmless } };
}

const harmless = (why: string) => ({ why, harmless: true });

/** Incidents that no figure shows, and of which no rule of figures may tell. */
export const untoldIncidents: readonly Incident[] = [
  untold(
    '13:15:38',
    '6: one relay is frozen for 57 s',
    {
      why: 'the other takes its lanes after ten seconds: Prometheus tells after ten minutes',
      signs: [{ prometheus: 'OutboxOneRelay' }],
    },
    {
      seconds: 57,
      figures: (second) => ({ relays: 1, due: second < 12 ? dueFor('orders', second, null) : [] }),
    },
  ),
  untold(
    '13:17:54',
    '8: PostgreSQL is away for 12 s',
    harmless(`${unread}, and all is caught up in a second`),
    { seconds: 12, blind: true },
  ),
  untold(
    '13:44:20',
    '8b: PostgreSQL is away for 158 s',
    {
      why: `${unread}: each relay tells it by itself, without figures, and so does Prometheus`,
      signs: [{ test: 'test/integration/alerts/database-away.test.ts' }, { prometheus: 'OutboxServerAway' }],
    },
    { seconds: 158, blind: true },
  ),
  untold('13:15:37', '9: a transaction is idle for 150 s', {
    why: 'it holds nothing up yet: `doctor` names it after a minute, and the alert `archive` after a day',
    harmless: true,
    signs: [{ test: 'test/integration/doctor/database.test.ts' }],
  }),
  untold('13:30:00', '15: a message is canceled a second before it is due', harmless(act)),
  untold(
    '13:33:12',
    '16: everything is away for 155 s, and relays start before PostgreSQL',
    {
      why: `${unread}: relays tell by themselves, without figures, while they wait; before that Prometheus tells`,
      signs: [{ test: 'test/integration/alerts/database-away.test.ts' }, { prometheus: 'OutboxNoRelay' }],
    },
    { seconds: 155, blind: true },
  ),
  untold('13:36:00', '17: a token has leaked', harmless(`${act}, and 401 follows its replacement`)),
  untold(
    '13:36:30',
    '18: a viewer pauses, an operator adopts',
    harmless(`${act}, or 403 says what is missing`),
  ),
  untold('13:37:00', '19: a person is removed', harmless(act)),
  untold(
    '13:48:00',
    '20: relays and consumers restart one after the other',
    harmless('nothing is a second late'),
    {
      seconds: 45,
      figures: () => ({ relays: 1, due: dueFor('orders', 1, null), groups: billing({ seenMs: 3_000 }) }),
    },
  ),
  untold(
    '13:50:00',
    '22: the database is restored from a dump',
    {
      why: 'relays end with OUTBOX_INSTALLATION_MOVED until it is adopted, and `verify --group` finds effects that are lost',
      signs: [
        { test: 'test/integration/temporal/namespaces.test.ts' },
        { test: 'test/integration/inbox/restore.test.ts' },
        { prometheus: 'OutboxNoRelay' },
      ],
    },
    { seconds: 60, blind: true },
  ),
];
