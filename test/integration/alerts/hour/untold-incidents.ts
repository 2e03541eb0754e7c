import { billing, dueFor, type Incident } from './incident.ts';

const act = 'an act of a person, and nothing is wrong: the audit has it';
const unread = 'nobody reads figures meanwhile';

const untold = (
  at: string,
  name: string,
  why: string,
  { figures = () => ({}), seconds = 1, blind = false }: Partial<Incident> = {},
): Incident => ({ at, name, seconds, blind, figures, tells: [], untold: why });

/** Incidents that no figure shows, and of which no rule of figures may tell. */
export const untoldIncidents: readonly Incident[] = [
  untold(
    '13:15:38',
    '6: one relay is frozen for 57 s',
    'the other takes its lanes after ten seconds: Prometheus tells after ten minutes, by OutboxOneRelay',
    {
      seconds: 57,
      figures: (second) => ({ relays: 1, due: second < 12 ? dueFor('orders', second, null) : [] }),
    },
  ),
  untold('13:17:54', '8: PostgreSQL is away for 12 s', `${unread}, and all is caught up in a second`, {
    seconds: 12,
    blind: true,
  }),
  untold(
    '13:44:20',
    '8b: PostgreSQL is away for 158 s',
    `${unread}: each relay tells it by itself, without figures, and Prometheus by OutboxServerAway`,
    { seconds: 158, blind: true },
  ),
  untold(
    '13:15:37',
    '9: a transaction is idle for 150 s',
    'it holds nothing up yet: `doctor` names it after a minute, and the alert `archive` after a day',
  ),
  untold('13:30:00', '15: a message is canceled a second before it is due', act),
  untold(
    '13:33:12',
    '16: everything is away for 155 s, and relays start before PostgreSQL',
    `${unread}: relays tell by themselves, without figures, while they wait; before that Prometheus, by OutboxNoRelay`,
    { seconds: 155, blind: true },
  ),
  untold('13:36:00', '17: a token has leaked', `${act}, and 401 follows its replacement`),
  untold('13:36:30', '18: a viewer pauses, an operator adopts', `${act}, or 403 says what is missing`),
  untold('13:37:00', '19: a person is removed', act),
  untold('13:48:00', '20: relays and consumers restart one after the other', 'nothing is a second late', {
    seconds: 45,
    figures: () => ({ relays: 1, due: dueFor('orders', 1, null), groups: billing({ seenMs: 3_000 }) }),
  }),
  untold(
    '13:50:00',
    '22: the database is restored from a dump',
    'relays end with OUTBOX_INSTALLATION_MOVED until it is adopted, and `verify --group` finds effects that are lost',
    { seconds: 60, blind: true },
  ),
];
