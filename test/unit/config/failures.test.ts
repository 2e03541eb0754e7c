import { ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { temporalFailure } from '../../../src/brokers/workflow/client/temporal-failure.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { databaseFailure } from '../../../src/store/database/database-failure.ts';

const url = 'postgresql://app:secret@db.example:6432/shop';
const target = { address: 'temporal.example:7233', namespace: 'shop' };

const socket = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const server = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, severity: 'FATAL' });
const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(`${code} ${details}`), { code, details, metadata: {} });

test.each<[string, Error, string, string]>([
  [
    'a refused connection',
    socket('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:6432'),
    'OUTBOX_SERVER_UNAVAILABLE',
    'PostgreSQL does not answer at db.example:6432 (database "shop"): connect ECONNREFUSED 10.0.0.1:6432.',
  ],
  [
    'a name with several addresses',
    new AggregateError([socket('ECONNREFUSED', 'a'), socket('ECONNREFUSED', 'b')], 'refused'),
    'OUTBOX_SERVER_UNAVAILABLE',
    'PostgreSQL does not answer at db.example:6432 (database "shop"): a; b.',
  ],
  [
    'a server that starts',
    server('57P03', 'the database system is starting up'),
    'OUTBOX_SERVER_UNAVAILABLE',
    'PostgreSQL does not answer at db.example:6432 (database "shop"): the database system is starting up.',
  ],
  [
    'a connection that is lost',
    new Error('Connection terminated unexpectedly'),
    'OUTBOX_SERVER_UNAVAILABLE',
    'PostgreSQL does not answer at db.example:6432 (database "shop"): Connection terminated unexpectedly.',
  ],
  [
    'a wrong password',
    server('28P01', 'password authentication failed for user "app"'),
    'OUTBOX_SERVER_REFUSED',
    'PostgreSQL at db.example:6432 refuses a connection to the database "shop": password authentication failed for user "app".',
  ],
])(
  '%s names PostgreSQL, its address and its database, and not the password',
  (_what, error, code, message) => {
    const failure = databaseFailure(url, error);

    expect(failure).toMatchObject({ code, message, cause: error });
    expect(JSON.stringify(failure?.details)).not.toContain('secret');
  },
);

test.each([
  ['of a statement', server('42P01', 'relation "x" does not exist')],
  ['of Kafka', Object.assign(socket('ECONNREFUSED', 'connect'), { name: 'KafkaJSConnectionError' })],
  ['with a code of this library', new OutboxError('OUTBOX_CONFLICT', 'It happened.')],
  ['without a code', new Error('boom')],
])('an error %s is not a failure of the connection', (_whose, error) => {
  expect(databaseFailure(url, error)).toBeUndefined();
});

test('a call that Temporal does not answer, or refuses, names its address and namespace', () => {
  const away = new ServiceError('Failed to list workflows', { cause: grpc(14, 'UNAVAILABLE: tcp connect') });
  expect(temporalFailure(target, away)).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message:
      'Temporal does not answer at temporal.example:7233 (namespace "shop"): Failed to list workflows: 14 UNAVAILABLE: tcp connect.',
  });
  expect(temporalFailure(target, grpc(5, 'NOT_FOUND: Namespace shop is not found.'))).toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    message:
      'Temporal at temporal.example:7233 (namespace "shop") refuses the call: 5 NOT_FOUND: Namespace shop is not found.',
  });
  expect(temporalFailure(target, new Error('boom'))).toBeUndefined();
});
