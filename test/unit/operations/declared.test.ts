import { expect, test } from 'vitest';
import { type DeclaredTable, functionsOf, type Ground, summaryOf } from '../../../src/operations/declared.ts';
import { authored, shortName } from '../../../src/operations/inputs/values.ts';
import type { OnDatabase, OperationOptions } from '../../../src/operations/operation-options.ts';
import type { Database } from '../../../src/store/database/database.ts';

interface LampOperations {
  list(): Promise<readonly string[]>;
  light(name: string, options: OperationOptions): Promise<string>;
}

type LampGround = Pick<Ground, 'alertRules' | 'database'>;

const database = { inOne: true } as unknown as Database;
const on: OnDatabase = (work) => work(database);
const table: DeclaredTable<LampOperations, LampGround> = {
  list: {
    text: 'list lamps',
    role: 'viewer',
    run: async (at) => [String(at.database === database), ...at.alertRules],
  },
  light: {
    text: 'light a lamp',
    overHttp: 'It glows at once.',
    role: 'operator',
    of: { name: shortName },
    options: authored,
    run: async (at, name, { actor, dryRun }) => [at.database === database, name, actor, dryRun].join(' '),
  },
};
const lamps = functionsOf<LampOperations, LampGround>(on, 'lamps', table, { alertRules: ['dark'] });

test('the functions of a table get the database, what they are of, and their options', async () => {
  expect(await lamps.list()).toEqual(['true', 'dark']);
  expect(await lamps.light('blue', { actor: 'ada', dryRun: true })).toBe('true blue ada true');
});

test.each<readonly [options: unknown, said: string]>([
  [
    { actor: 'ada', dryrun: true },
    'Unknown option "dryrun" of lamps.light: use one of actor, reason, dryRun.',
  ],
  [{ actor: 'ada', dryRun: 'true' }, 'The option "dryRun" of the operation must be true or false.'],
  ['ada', 'The options of lamps.light must be an object.'],
  [null, 'The options of lamps.light must be an object.'],
])('the options %j are refused before the database is asked', async (options, said) => {
  await expect(lamps.light('blue', options as OperationOptions)).rejects.toThrow(said);
});

test('a summary is what the help says, as a sentence, and what only documents say', () => {
  expect([summaryOf(table.list), summaryOf(table.light)]).toEqual([
    'List lamps.',
    'Light a lamp. It glows at once.',
  ]);
});
