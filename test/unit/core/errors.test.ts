import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorRules, OutboxError, type OutboxErrorCode } from '../../../src/core/errors.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const codes = Object.keys(errorRules) as OutboxErrorCode[];

/** Everything that can raise an error: the sources and the SQL. */
function textsUnder(folder: string, ending: string): readonly string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) =>
        name.endsWith(ending) && !name.includes('generated') && name !== path.join('core', 'errors.ts'),
    )
    .map((name) => readFileSync(path.join(root, folder, name), 'utf8'));
}

const raised = [
  ...textsUnder('dev', '.ts'),
  ...textsUnder('src', '.ts'),
  ...textsUnder('activities', '.ts'),
  ...textsUnder('prisma/migrations', '.sql'),
].join('\n');

/** The calls that may succeed later without a change by the caller: what is only away for the moment. */
const retryable: ReadonlySet<string> = new Set([
  'OUTBOX_ADDRESS_MISSING',
  'OUTBOX_CONNECTIONS_EXHAUSTED',
  'OUTBOX_DEAD_LETTER_REFUSED',
  'OUTBOX_DELIVERIES_LIMITED',
  'OUTBOX_GROUP_UNFIT',
  'OUTBOX_HANDLER_GIVEN_UP',
  'OUTBOX_HANDLER_MISSING',
  'OUTBOX_HANDLER_STUCK',
  'OUTBOX_LANE_LOCKED',
  'OUTBOX_MESSAGE_BUSY',
  'OUTBOX_PORT_UNAVAILABLE',
  'OUTBOX_QUEUE_FULL',
  'OUTBOX_REQUEST_LIMITED',
  'OUTBOX_SCHEDULE_REFUSED',
  'OUTBOX_SERVER_UNAVAILABLE',
  'OUTBOX_TRANSACTION_ROLLED_BACK',
  'OUTBOX_TRANSPORT_STUCK',
  'OUTBOX_WINDOW_LATE',
]);

describe.each(codes)('%s', (code) => {
  const error = new OutboxError(code, 'It happened.', { details: { topic: 'orders' } });

  test('is an OutboxError with its code, message and details', () => {
    expect(error).toBeInstanceOf(OutboxError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'OutboxError',
      code,
      message: 'It happened.',
      details: { topic: 'orders' },
    });
    expect(String(error)).toBe('OutboxError: It happened.');
  });

  test('has the next step and whether to try again', () => {
    expect(error.next).toBe(errorRules[code].next);
    expect(error.next).toMatch(/^[A-Z][^\n]{15,}\.$/);
    expect(error.retryable).toBe(retryable.has(code));
  });

  test('is thrown somewhere', () => {
    expect(raised).toContain(`'${code}'`);
  });
});

test('no code outside the table is thrown', () => {
  const used = new Set(raised.match(/'OUTBOX_[A-Z_]+'/g)?.map((quoted) => quoted.slice(1, -1)));
  expect([...used].filter((code) => !(code in errorRules))).toEqual([]);
});

test('the codes are in alphabetical order', () => {
  expect(codes).toEqual(codes.toSorted());
});

test('an error keeps its cause, and has none if none was given', () => {
  const cause = new Error('the server said no');
  expect(new OutboxError('OUTBOX_KEY_INVALID', 'No.', { cause }).cause).toBe(cause);
  expect('cause' in new OutboxError('OUTBOX_KEY_INVALID', 'No.')).toBe(false);
  expect(new OutboxError('OUTBOX_KEY_INVALID', 'No.').details).toEqual({});
});
