import { expect, test } from 'vitest';
import { makePartitions } from '../../../src/store/retention/history.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

test('a month of the history is made in one transaction, which ends after its last statement', async () => {
  const database = new ScriptedDatabase();
  const month = {
    name: 'message_history_2026_12',
    from: '2026-12-01 00:00:00+00',
    until: '2027-01-01 00:00:00+00',
  };
  database
    .on('to_regclass', [month])
    .on('pg_advisory_xact_lock', [])
    .on('from pg_class', [])
    .on('create table', [])
    .on('disable row level security', [])
    .on('attach partition', []);

  await makePartitions(database);

  expect(database.asked.filter(({ inTransaction }) => inTransaction).map(({ part }) => part)).toEqual([
    'pg_advisory_xact_lock',
    'from pg_class',
    'create table',
    'disable row level security',
    'attach partition',
  ]);
});
