import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Firing, noteAlerts, readAlerts, readNews } from '../../../src/store/alerts/alerts.ts';
import { noteNewsTold, noteUntold, takeDestination } from '../../../src/store/alerts/destinations.ts';
import { readSilences, silenceRule } from '../../../src/store/alerts/silences.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { beginFiguresLook, noteFigures } from '../../../src/store/figures/figures-look.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { messageOfNews } from '../../../src/watch/message.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';

const failed: Firing = {
  rule: 'failed',
  subject: 'topic orders',
  labels: { topic: 'orders' },
  figure: 1,
  text: '1 message failed',
  next: 'temporal-outbox list',
};

let lanes: LaneFixture;
let database: Database;
beforeAll(async () => {
  lanes = await laneFixture();
  ({ database } = lanes);
});
afterAll(() => lanes.drop());
beforeEach(() => database.query('truncate outbox.alert, outbox.alert_silence, outbox.alert_destination'));

/** Judges one more reading, and returns what began or ended. */
async function judge(firing: readonly Firing[]): Promise<readonly string[]> {
  const number = (await beginFiguresLook(database, 0)) ?? '';
  await noteFigures(database, number, await readFigures(database));
  const changes = await noteAlerts(database, number, firing, { againMs: 3_600_000, calmReadings: 4 });
  return changes.map(({ change }) => change);
}

test('an alert is over after four readings in a row without it, however far apart they are', async () => {
  const changes = [];
  for (const firing of [[failed], [], [], [], [failed], [], [], [], []]) {
    changes.push(await judge(firing));
    await database.query(
      `update outbox.alert set since = since - interval '1 hour', news_at = outbox.clock()`,
    );
  }
  expect(changes).toEqual([['began'], [], [], [], [], [], [], [], ['ended']]);
});

test('the end of an alert that a silence of days has hidden is told when the silence ends', async () => {
  const news = () => readNews(database, 'webhook');
  await judge([failed]);
  await database.query(`update outbox.alert set told = '{"webhook": 1}'`);
  await silenceRule(database, 'failed', 3_600_000, { actor: 'ada' }, false);
  for (let reading = 1; reading <= 4; reading += 1) await judge([]);
  await database.query(`update outbox.alert set over_at = over_at - interval '2 days'`);
  await judge([]);
  expect(await news()).toEqual([]);
  await database.query('update outbox.alert_silence set until = outbox.clock()');
  await judge([]);

  expect(await news()).toMatchObject([{ rule: 'failed', known: true, overAt: expect.any(Date) }]);
});

test('an alert that begins anew is a new one to who was told of the last, and to nobody told', {
  tags: ['alerts-told-once'],
}, async () => {
  const told = async (): Promise<void> =>
    noteNewsTold(database, 'webhook', await readNews(database, 'webhook'));
  await judge([failed]);
  await told();
  await database.query(`update outbox.alert set since = since - interval '1 hour'`);
  for (let reading = 1; reading <= 4; reading += 1) await judge([]);
  const over = await readNews(database, 'webhook');
  expect(over).toMatchObject([{ known: true, overAt: expect.any(Date) }]);
  await judge([failed]);
  const [again] = await database.query<{ lasted: number }>(
    'select extract(epoch from outbox.clock() - since)::float8 as lasted from outbox.alert',
  );
  expect(again?.lasted).toBeLessThan(3_600);

  expect(await readNews(database, 'webhook')).toMatchObject([{ known: false, overAt: null }]);
  expect(await readAlerts(database)).toMatchObject([{ toldAt: null }]);
  // The message of the end was on its way meanwhile.
  await noteNewsTold(database, 'webhook', over);
  expect(await readNews(database, 'webhook')).toMatchObject([{ known: false, overAt: null }]);
  expect(await readAlerts(database)).toMatchObject([{ toldAt: null }]);
  await told();
  expect(await readAlerts(database)).toMatchObject([{ toldAt: expect.any(Date) }]);
});

test('what a destination was told is noted of these alerts alone, not of others of their rule or subject', async () => {
  const others = [
    { ...failed, subject: 'topic bills' },
    { ...failed, rule: 'oldestDue' as const },
  ];
  await judge([failed, ...others]);
  const namesOf = (alerts: Awaited<ReturnType<typeof readNews>>) =>
    alerts.map(({ rule, subject }) => `${rule} ${subject}`).toSorted();
  const news = await readNews(database, 'webhook');
  expect(news).toHaveLength(3);
  await noteNewsTold(
    database,
    'webhook',
    news.filter(({ rule, subject }) => rule === failed.rule && subject === failed.subject),
  );

  expect(namesOf(await readNews(database, 'webhook'))).toEqual([
    'failed topic bills',
    'oldestDue topic orders',
  ]);
  expect(namesOf(await readNews(database, 'email'))).toHaveLength(3);
});

test('of more alerts than one message tells, the next one tells the rest, and none is told twice', async () => {
  const subjects = Array.from({ length: 60 }, (_, n) => `topic orders-${String(n).padStart(2, '0')}`);
  await judge(subjects.map((subject) => ({ ...failed, subject })));
  const told: string[][] = [];
  for (let message = 1; message <= 3; message += 1) {
    const news = await readNews(database, 'webhook');
    await noteNewsTold(database, 'webhook', news);
    told.push(news.map(({ subject }) => subject));
  }

  expect(told.map(({ length }) => length)).toEqual([50, 10, 0]);
  expect(told.flat().toSorted()).toEqual(subjects);
});

test('an alert begins when its fact did, and is over when it was first not found', async () => {
  const held: Firing = { ...failed, rule: 'hold', figure: 90_000, lastsMs: 90_000 };
  await judge([held]);
  const [begun] = await readAlerts(database);
  await judge([{ ...held, figure: 95_000, lastsMs: 95_000 }]);
  await judge([]);
  // The reading after which nothing was found, and three more, which only make sure of it.
  await database.query(`update outbox.alert set calm_since = calm_since - interval '45 seconds'`);
  for (let reading = 2; reading <= 4; reading += 1) await judge([]);
  const [row] = await database.query<{ begun: number; over: number }>(
    `select extract(epoch from outbox.clock() - since)::float8 as begun,
       extract(epoch from outbox.clock() - over_at)::float8 as over from outbox.alert`,
  );
  expect(row?.begun).toBeGreaterThanOrEqual(90);
  expect(row?.begun).toBeLessThan(150);
  expect(row?.over).toBeGreaterThanOrEqual(45);
  expect(row?.over).toBeLessThan(90);
  const [ended] = await readAlerts(database);
  expect(ended?.since).toEqual(begun?.since);
});

test('what goes on is told again after its time, and only then', async () => {
  await judge([failed]);
  await noteNewsTold(database, 'webhook', await readNews(database, 'webhook'));
  const later = async () => {
    await database.query(`update outbox.alert set news_at = news_at - interval '50 minutes'`);
    await judge([failed]);
    return readNews(database, 'webhook');
  };
  expect(await later()).toEqual([]);
  const news = await later();
  expect(messageOfNews(news, 'a shop').lines).toEqual([expect.stringMatching(/^STILL FIRING failed: /)]);
  await noteNewsTold(database, 'webhook', news);
  expect(await later()).toEqual([]);
});

test('what goes on is told again although the clock was set back by two hours', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  await judge([failed]);
  await database.query(`update outbox.alert set news_at = news_at + interval '2 hours'`);
  for (let reading = 1; reading <= 2; reading += 1) {
    await judge([failed]);
    expect(await readNews(database, 'webhook')).toMatchObject([{ news: '2' }]);
  }
});

test('of two operators who silence one rule at the same time both succeed, and the later one counts', async () => {
  const ada = await lanes.begin();
  await ada.query(
    `insert into outbox.alert_silence (rule, until, actor) values ('failed', outbox.clock() + interval '1 hour', 'ada')`,
  );
  const silenced = silenceRule(database, 'failed', 60_000, { actor: 'bob' }, false);
  await untilLockWaits(database, 1);
  await ada.commit();

  const end = await silenced;
  expect(await readSilences(database)).toMatchObject([{ rule: 'failed', actor: 'bob', until: end }]);
});

const take = () => takeDestination(database, 'webhook', { leaseMs: 60_000, gapMs: 60_000 });
const setBack = (column: 'leased_until' | 'told_at') =>
  database.query(`update outbox.alert_destination set ${column} = ${column} + interval '1 hour'`);

test('a lease from before the clock was set back by an hour is over', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  expect(await take()).toBe(true);
  expect(await take()).toBe(false);

  await setBack('leased_until');

  expect(await take()).toBe(true);
  expect(await take()).toBe(false);
});

test('a destination that was told before the clock was set back by an hour is told at once', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  await take();
  await noteNewsTold(database, 'webhook', []);
  expect(await take()).toBe(false);

  await setBack('told_at');

  expect(await take()).toBe(true);
});

test('a destination that has failed often rests for five minutes, whatever the lease', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  await take();
  for (let failures = 1; failures <= 10; failures += 1) await noteUntold(database, 'webhook', 'away');

  expect(await take()).toBe(false);
  const [row] = await database.query<{ restMs: number }>(
    `select (extract(epoch from leased_until - clock_timestamp()) * 1000)::float8 as "restMs" from outbox.alert_destination`,
  );
  expect(row?.restMs).toBeGreaterThan(240_000);
  expect(row?.restMs).toBeLessThanOrEqual(300_000);
});
