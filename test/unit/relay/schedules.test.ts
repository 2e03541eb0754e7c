import { expect, test } from 'vitest';
import type { Repeater } from '../../../src/relay/ports.ts';
import { createSchedules } from '../../../src/relay/schedules.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';
import { until } from '../../support/fixtures/until.ts';

const row = (name: string) => ({ name, version: '1', removed: false, followed: true, readAt: new Date(0) });
const repeater = (nextTimes: Repeater['nextTimes']): Repeater => ({
  nextTimes,
  follow: async () => [],
  drop: async () => undefined,
});

test('a schedule that cannot be followed is reported, and keeps no other from being followed', async () => {
  const database = new ScriptedDatabase()
    .on('from outbox.schedule', [row('refused'), row('taken')])
    .on('set followed_version = version', []);
  const errors: unknown[] = [];
  const schedules = createSchedules({
    database,
    repeater: repeater(async ({ name }) => {
      if (name === 'refused') throw new Error('Temporal refuses it');
      return [];
    }),
    report: (event) => errors.push(event),
  });

  const following = schedules.keepFollowed(60_000);
  await until(() => database.valuesOf('set followed_version = version').length > 0);
  await following.stop();

  expect(database.valuesOf('set followed_version = version')).toMatchObject([
    ['taken', '1', [], expect.any(String)],
  ]);
  expect(errors).toEqual([
    {
      type: 'error',
      during: 'schedules',
      error: expect.objectContaining({ message: 'Temporal refuses it' }),
    },
  ]);
});

test('what a stop cuts off of a schedule is no error', async () => {
  const database = new ScriptedDatabase().on('from outbox.schedule', [row('one'), row('two')]);
  const asked: string[] = [];
  let cut: (error: Error) => void = () => undefined;
  const schedules = createSchedules({
    database,
    repeater: repeater(({ name }) => {
      asked.push(name);
      return new Promise((_resolve, reject) => (cut = reject));
    }),
    report: (event) => expect.unreachable(JSON.stringify(event)),
  });

  const following = schedules.keepFollowed(60_000);
  await until(() => asked.length > 0);
  await following.stop();
  cut(new Error('cut off'));
  await new Promise(setImmediate);
  expect(asked).toEqual(['one']);
});
