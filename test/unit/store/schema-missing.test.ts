import { expect, test } from 'vitest';
import { schemaMissing } from '../../../src/store/database/schema-missing.ts';

const said = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each([
  ['3F000', 'schema "outbox" does not exist'],
  ['3F000', 'Schema »outbox« existiert nicht'],
  ['42P01', 'relation "outbox.message" does not exist'],
  ['42P01', 'リレーション"outbox.message"は存在しません'],
  ['42883', 'function outbox.store_one(text, text) does not exist'],
])('%s: %s', (code, message) => {
  expect(schemaMissing(said(code, message))).toMatchObject({
    code: 'OUTBOX_MIGRATION_MISSING',
    details: { sqlState: code },
  });
});

test('the engine of Prisma 6 and drivers of other libraries keep it elsewhere', () => {
  const cause = said('42P01', 'relation "outbox.lane" does not exist');
  const engine = { code: 'P2010', meta: { code: '42P01', message: `ERROR: ${cause.message}` } };
  for (const error of [engine, new Error('failed', { cause }), { driverError: cause }, { original: cause }])
    expect(schemaMissing(error)).toMatchObject({ details: { missing: 'outbox.lane' } });
});

test.each([
  ['3F000', 'schema "my_outbox" does not exist'],
  ['3F000', 'schema "outbox_old" does not exist'],
  ['42P01', 'relation "orders" does not exist'],
  ['42P01', 'relation "old.outbox" does not exist'],
  ['42P01', 'relation "my_outbox.message" does not exist'],
  ['42883', 'function copy_it(outbox.message) does not exist'],
  ['42883', 'operator does not exist: outbox.state = integer'],
  ['42703', 'column outbox.message.lost does not exist'],
])('not %s: %s', { tags: ['missing-outbox-reported'] }, (code, message) => {
  expect(schemaMissing(said(code, message))).toBeUndefined();
});

test.each([undefined, null, 'outbox.message', new Error('outbox.message')])('not %s', (error) => {
  expect(schemaMissing(error)).toBeUndefined();
});
