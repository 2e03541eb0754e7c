import { alertsOf } from '../../../../src/app/relay/alerts.ts';
import { defineConfig } from '../../../../src/config/config.ts';
import { readNews } from '../../../../src/store/alerts/alerts.ts';
import { noteNewsTold } from '../../../../src/store/alerts/destinations.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import type { Figures } from '../../../../src/store/figures/figures.ts';
import { beginFiguresLook, noteFigures } from '../../../../src/store/figures/figures-look.ts';
import { messageOfNews } from '../../../../src/watch/message.ts';
import type { LaneFixture } from '../../../support/fixtures/lane-fixture.ts';
import { quietFigures } from '../../../support/fixtures/quiet-figures.ts';
import { numbered } from '../../../support/fixtures/stage.ts';
import { healthy, type Incident } from './incident.ts';

/** Between two readings. */
export const everySeconds = 15;
/** Between two messages to a destination. */
export const gapSeconds = 60;

/** The thresholds of that hour, lower than the defaults. */
const alerts = {
  interval: everySeconds * 1_000,
  parked: '1m',
  pausedAddress: '1m',
  lag: 500,
  stalledGroup: '2m',
  noConsumer: '2m',
} as const;

/** What a destination was told, in seconds of the hour. */
export interface Told {
  readonly state: 'FIRING' | 'STILL FIRING' | 'OVER';
  readonly rule: string;
  readonly subject: string;
  readonly text: string;
  readonly at: number;
  readonly since: number;
  readonly until: number;
}

const startMs = Date.parse('2026-11-28T13:00:00Z');

/** Seconds of the hour of a time such as `13:05:17`. */
export function secondOf(time: string): number {
  return (Date.parse(`2026-11-28T${time}Z`) - startMs) / 1_000;
}

const timeOf = (second: number): Date => new Date(startMs + second * 1_000);

/** What is read at a second of the hour; `undefined`: nothing can be read. */
function figuresAt(second: number, incidents: readonly Incident[]): Figures | undefined {
  const open = incidents.filter(
    ({ at, seconds }) => second >= secondOf(at) && second < secondOf(at) + seconds,
  );
  if (open.some(({ blind }) => blind === true)) return undefined;
  const read = open.map(({ at, figures }) => figures(second - secondOf(at)));
  return read.reduce<Figures>(together, together(quietFigures, healthy));
}

/** Two sets of figures as one: of what both have, a rule takes the worst. */
function together(a: Figures, b: Partial<Figures>): Figures {
  return {
    ...a,
    ...b,
    due: [...a.due, ...(b.due ?? [])],
    messages: [...a.messages, ...(b.messages ?? [])],
    tries: {
      published: a.tries.published + (b.tries?.published ?? 0),
      failed: a.tries.failed + (b.tries?.failed ?? 0),
    },
    holds: [...a.holds, ...(b.holds ?? [])],
    groups: [...a.groups, ...(b.groups ?? [])],
    lags: [...a.lags, ...(b.lags ?? [])],
    attended: [...a.attended, ...(b.attended ?? [])],
    pausedAddresses: [...a.pausedAddresses, ...(b.pausedAddresses ?? [])],
    standing: [...a.standing, ...(b.standing ?? [])],
    servers: [...a.servers, ...(b.servers ?? [])],
    clocks: [...a.clocks, ...(b.clocks ?? [])],
  };
}

/** A database whose clock is that of the hour. */
export async function beginHour({ database }: LaneFixture): Promise<void> {
  await database.query('create table hour (now timestamptz not null)');
  await database.query(`insert into hour values ('-infinity')`);
  await database.query(
    `create or replace function outbox.clock() returns timestamptz language sql stable
     as $$ select now from public.hour $$`,
  );
}

/**
 * Has relays judge what is read from a second of the hour to another, and tell a destination.
 *
 * @returns what it was told, in the order of time
 */
export async function play(
  lanes: LaneFixture,
  incidents: readonly Incident[],
  [from, to]: readonly [from: number, to: number],
): Promise<readonly Told[]> {
  const { database } = lanes;
  await database.query('truncate outbox.alert');
  const judge = judgeOf(lanes);
  const told: Told[] = [];
  let lastTold = Number.NEGATIVE_INFINITY;
  for (let second = from; second <= to; second += everySeconds) {
    const figures = figuresAt(second, incidents);
    if (figures === undefined) continue;
    await database.query('update hour set now = $1', [timeOf(second)]);
    await judge(figures);
    if (second - lastTold < gapSeconds) continue;
    const news = await tell(database, second);
    if (news.length > 0) lastTold = second;
    told.push(...news);
  }
  return told;
}

/** Judges a reading as a relay does. */
function judgeOf({ broker, database, url }: LaneFixture): (figures: Figures) => Promise<void> {
  const config = defineConfig({
    database: { url },
    topics: [numbered('orders')],
    transports: { scripted: broker },
    alerts,
  });
  const watching = alertsOf(config, { database, report: () => undefined });
  if (watching === undefined) throw new Error('The configuration has alerts.');
  return async (figures) => {
    const number = (await beginFiguresLook(database, 0)) ?? '';
    await noteFigures(database, number, figures);
    await watching.seen({ figures, number, agoMs: 0 });
  };
}

async function tell(database: Database, at: number): Promise<readonly Told[]> {
  const news = await readNews(database, 'webhook');
  const { alerts: told, lines } = messageOfNews(news, 'hour');
  await noteNewsTold(database, 'webhook', news);
  return told.map(({ rule, since, subject, text, until }, n) => ({
    state: /^(?:STILL FIRING|FIRING|OVER)/.exec(lines[n] ?? '')?.[0] as Told['state'],
    rule,
    subject,
    text,
    at,
    since: (Date.parse(since) - startMs) / 1_000,
    until: until === null ? Number.NaN : (Date.parse(until) - startMs) / 1_000,
  }));
}
