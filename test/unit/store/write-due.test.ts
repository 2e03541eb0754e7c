import { expect, test } from 'vitest';
import { writeDue } from '../../../src/store/schedule/write-due.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const refusal = { code: 'OUTBOX_KEY_INVALID', message: 'The key is too long.' };
const template = {
  topic: 'orders',
  payload: '{}',
  key: null,
  ref: null,
  expiresAfterMs: null,
  headers: {},
  cron: null,
  everyMs: 1_000,
  timeZone: 'UTC',
  id: '0197b1d0-0000-7000-8000-000000000001',
  early: false,
  told: false,
  removed: false,
  paused: false,
  late: false,
  busy: false,
};

test.each([
  ['written', null, 'set last_at'],
  ['refused', refusal, 'set last_error'],
] as const)(
  'a time of a schedule that is %s is noted before its transaction ends',
  async (answer, refused, noted) => {
    const database = new ScriptedDatabase()
      .on('for no key update', [])
      .on('with recursive previous', [template])
      .on('select outbox.store_as_json(', [
        { answers: JSON.stringify([[1, template.id, 'w', 'ready', null, false, refused]]) },
      ])
      .on(noted, []);

    expect(await writeDue(database, 'ticks', new Date(5_000))).toBe(answer);

    expect(database.asked.at(-1)).toMatchObject({ part: noted, inTransaction: true });
  },
);
