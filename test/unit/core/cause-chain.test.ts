import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { causeIn } from '../../../src/core/cause.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { namedReasonOf, reasonOf } from '../../../src/core/reason.ts';
import { errorText } from '../../../src/inbox/handling/kept.ts';
import { permanent, retryAfter } from '../../../src/inbox/verdict.ts';

const refused = 'connect ECONNREFUSED 10.0.0.1:5432';

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('a failed request of Node names the server that refuses it, also where a handler has judged it', {
  tags: ['error-told-with-causes'],
}, async () => {
  const port = await closedPort();
  const thrown: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  const text = `TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`;
  expect(errorText(thrown)).toBe(text);
  expect(errorText(permanent(thrown))).toBe(text);
  expect(errorText(retryAfter(thrown, '1m'))).toBe(text);
  expect(permanent(thrown).message).toBe('fetch failed');
});

test.each([
  [
    'a client',
    new Error('Failed to start Workflow', { cause: new Error(`14 UNAVAILABLE: ${refused}`) }),
    `Failed to start Workflow: 14 UNAVAILABLE: ${refused}`,
  ],
  ['the text of its cause', new Error(refused, { cause: new Error(refused) }), refused],
  [
    'a part of its text',
    new Error(`No: ${refused}.`, { cause: new Error(`14 UNAVAILABLE: ${refused}`) }),
    `No: ${refused}.`,
  ],
  ['three layers', new Error('a', { cause: new Error('a: b', { cause: new Error('c.') }) }), 'a: b: c'],
  [
    'tried addresses',
    new Error('fetch failed', { cause: new AggregateError([new Error('v6'), new Error('v4')], 'tried') }),
    'fetch failed: v6; v4',
  ],
  [
    'causes of tried addresses',
    new AggregateError([new Error('v6', { cause: new Error('no route') })], 'tried'),
    'v6: no route',
  ],
  ['a text as its cause', new Error('a', { cause: 'b' }), 'a: b'],
  ['what a driver keeps', new Error('a', { cause: { kind: 'postgres' } }), 'a'],
  [
    'this library',
    new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'Kafka is away.', { cause: new Error(refused) }),
    'Kafka is away.',
  ],
  [
    'this library, wrapped',
    new Error('a', { cause: new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'b', { cause: new Error('c') }) }),
    'a: b',
  ],
  [
    'a URL',
    new Error('a', { cause: new Error('https://me:s3cr@t@host/x is no b://u:p@c') }),
    'a: https://host/x is no b://c',
  ],
])(
  'the text of an error of %s says each cause once',
  { tags: ['error-told-with-causes'] },
  (_of, error, text) => {
    expect(reasonOf(error)).toBe(text);
    const wrapped = error instanceof AggregateError ? `${error.message}: ` : '';
    expect(namedReasonOf(error)).toBe(`${error.name}: ${wrapped}${text}`);
  },
);

test('the errors of several tries are told beside what wraps them', () => {
  const error = new AggregateError([new Error('a'), new Error('b')], 'All promises were rejected');
  expect(namedReasonOf(error)).toBe('AggregateError: All promises were rejected: a; b');
});

test('errors that wrap each other, or without an end, have a short text', {
  tags: ['error-told-with-causes'],
}, () => {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });
  expect(reasonOf(first)).toBe('first: second');
  let deep = new Error('0');
  for (let n = 1; n < 1_000; n += 1) deep = new Error(`${n} ${'long '.repeat(1_000)}`, { cause: deep });
  expect(reasonOf(deep).length).toBeLessThan(8_100);
});

test('a long cause is cut before the word that does not fit', () => {
  const secret = `https://hooks.example/${'x'.repeat(200)}`;
  const text = reasonOf(new Error('a', { cause: new Error(`${'b '.repeat(200)}${secret}`) }));
  expect(text).not.toContain('hooks');
  expect(text.endsWith('b …')).toBe(true);
});

test.each([
  [
    'a client that puts its parameters below',
    'Failed query: select\n\nparams: 1',
    'Error: Failed query: select: inner',
  ],
  ['a text with a stack', 'broken\n    at f (file:1:2)', 'Error: broken: inner'],
  ['Prisma', '\nInvalid `a.b()` invocation in\nf.ts:1\n\n  1 a\n\nIt broke.', 'It broke: inner'],
])('the useful part of the text of %s has the cause', (_of, message, useful) => {
  expect(causeIn(namedReasonOf(new Error(message, { cause: new Error('inner') })))).toBe(useful);
});
