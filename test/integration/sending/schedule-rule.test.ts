import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../src/app/operations/operations.ts';
import { type ScheduleOptions, schedule, topic } from '../../../src/index.ts';
import { writeDue } from '../../../src/store/schedule/write-due.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { holdForADay, secondsAgo } from '../../support/fixtures/schedule-times.ts';
import { byPg, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());
beforeEach(async () => {
  await made.database.query('truncate outbox.schedule, outbox.message cascade');
});

const reports = topic('reports', z.object({ n: z.number() }));
const secondly = { every: '1s' } as const;

const commit: RunTransaction = (work) => byPg(made.database)(work);

const rows = () => made.database.query<{ name: string }>('select name from outbox.schedule order by name');

test('a time writes a message if it is one of the rule of the row, from when that holds on', {
  tags: ['repeating-messages'],
}, async () => {
  const minute = (back: number): Date => new Date((Math.floor(Date.now() / 60_000) - back) * 60_000);
  const answers = (...times: readonly Date[]) =>
    Promise.all(times.map((at) => writeDue(made.database, 'a', at)));
  const put = (options: ScheduleOptions) =>
    commit((tx) => schedule(tx, 'a', reports, { n: 1 }, { ...options, catchUp: '365 days' }));

  await put({ every: '5s' });
  expect(await answers(minute(1))).toEqual(['off-rule']);
  await holdForADay(made.database);
  expect(await answers(minute(1), new Date(minute(1).getTime() + 1_000))).toEqual(['written', 'off-rule']);
  // Another content is no other rule.
  await put({ every: '5s', key: 'k' });
  expect(await answers(minute(2))).toEqual(['written']);

  await put({ cron: '* * * * *' });
  expect(await answers(minute(3))).toEqual(['off-rule']);
  await holdForADay(made.database);
  expect(await answers(minute(3), new Date(minute(3).getTime() + 5_000))).toEqual(['written', 'off-rule']);
  const noon = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 43_200_000);
  await put({ cron: '0 17 * * *', timeZone: 'Asia/Jakarta' });
  await made.database.query(`update outbox.schedule set holds_since = '2000-01-01'`);
  const hours = [-7, -2, 0].map((hour) => new Date(noon.getTime() + hour * 3_600_000));
  expect(await answers(...hours)).toEqual(['off-rule', 'written', 'off-rule']);
  // What Temporal has told of this rule, by other time zones.
  await made.database.query('update outbox.schedule set next_at = array[$1::timestamptz]', [noon]);
  expect(await answers(noon)).toEqual(['written']);
});

test('a time that is caught up after a later one leaves this one the last, and its message the previous one', async () => {
  await commit((tx) =>
    schedule(tx, 'a', reports, { n: 1 }, { ...secondly, overlap: 'skip', catchUp: '1 day' }),
  );
  await holdForADay(made.database);
  const [early, late, next] = [secondsAgo(30), secondsAgo(20), secondsAgo(10)];
  expect(await writeDue(made.database, 'a', late)).toBe('written');
  const [message] = await made.database.query<{ id: string }>('select id from outbox.message');
  await made.database.query(`update outbox.schedule set overlap = 'allow'`);
  expect(await writeDue(made.database, 'a', early)).toBe('written');

  expect(
    await made.database.query('select last_at as at, last_message_id as id from outbox.schedule'),
  ).toEqual([{ at: late, id: message?.id }]);
  await made.database.query(`update outbox.schedule set overlap = 'skip'`);
  expect(await writeDue(made.database, 'a', next)).toBe('busy');
});

test('what is resumed writes no time from before that, and what is paused none', {
  tags: ['repeating-messages'],
}, async () => {
  await commit((tx) => schedule(tx, 'a', reports, { n: 1 }, secondly));
  await holdForADay(made.database);
  const at = operations({ database: { url: made.url } });
  await at.schedules.pause('a', { actor: 'ada' });
  expect(await writeDue(made.database, 'a', secondsAgo(2))).toBe('paused');
  await at.schedules.resume('a', { actor: 'ada' });
  await at.close();

  expect(await writeDue(made.database, 'a', secondsAgo(2))).toBe('off-rule');
  const next = new Date(Math.ceil((Date.now() + 1) / 1_000) * 1_000);
  expect(await writeDue(made.database, 'a', next)).toBe('written');
});

test.for([
  ['neither cron nor every', {}, 'cron'],
  ['both', { cron: '0 6 * * *', every: '1h' }, 'every'],
  ['an hour that does not exist', { cron: '0 24 * * *' }, 'cron'],
  ['a line that never occurs', { cron: '0 0 31 2 *' }, 'cron'],
  ['an unknown zone', { cron: '0 6 * * *', timeZone: 'Europe/Atlantis' }, 'timeZone'],
  ['an offset as zone', { cron: '0 6 * * *', timeZone: '+01:00' }, 'timeZone'],
  ['a zone with every', { every: '1h', timeZone: 'Europe/Berlin' }, 'timeZone'],
  ['less than a second', { every: 500 }, 'every'],
  ['a fraction of a second', { every: 1_500 }, 'every'],
  ['an unknown overlap', { every: '1h', overlap: 'queue' }, 'overlap'],
  ['too short a catch-up', { every: '1h', catchUp: '1s' }, 'catchUp'],
  ['an option that does not exist', { every: '1h', timezone: 'UTC' }, 'timezone'],
] as const)('%s is refused, and the transaction stays usable', async ([, options, option]) => {
  await commit(async (tx) => {
    await expect(schedule(tx, 'a', reports, { n: 1 }, options as never)).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      details: { option },
    });
    await schedule(tx, 'b', reports, { n: 1 }, secondly);
  });
  expect(await rows()).toMatchObject([{ name: 'b' }]);
});

test('a cron line is stored with a space between its fields, and a name as its fields', async () => {
  const put = (cron: string) => commit((tx) => schedule(tx, 'a', reports, { n: 1 }, { cron }));
  const stored = async () => (await made.database.query('select cron from outbox.schedule'))[0];

  expect(await put('0  6 * * 7')).toBe('scheduled');
  expect(await stored()).toEqual({ cron: '0 6 * * 7' });
  expect(await put('@daily')).toBe('scheduled');
  expect(await put('0 0 * * *')).toBe('unchanged');
  await expect(put('0 24 * * *')).rejects.toThrow(
    'The option "cron" of schedule must have as hour \'*\', values of 0-23,',
  );
});

test('a name, key, header or payload that cannot be stored is refused when it is scheduled', async () => {
  const refused = (code: string, name: string, payload: unknown, more: object) =>
    expect(
      commit((tx) => schedule(tx, name, reports, payload as never, { ...secondly, ...more })),
    ).rejects.toMatchObject({ code });

  await refused('OUTBOX_OPTION_INVALID', 'a b', { n: 1 }, {});
  await refused('OUTBOX_KEY_INVALID', 'a', { n: 1 }, { key: '' });
  await refused('OUTBOX_REF_INVALID', 'a', { n: 1 }, { ref: '' });
  await refused('OUTBOX_HEADER_INVALID', 'a', { n: 1 }, { headers: { 'outbox-x': '1' } });
  await refused('OUTBOX_PAYLOAD_INVALID', 'a', { n: 'one' }, {});
  expect(await rows()).toEqual([]);
});
