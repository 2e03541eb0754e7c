import { expect, test } from 'vitest';
import { toldError } from '../../../src/inbox/told-error.ts';

const body = (text: string) => Buffer.from(text);

test('values of all messages in hand are removed from the text of an error', () => {
  const error = new Error('Card 4711 of ada@example.org is refused by 127.0.0.1:9042');
  const bodies = [body('{"card":4711}'), null, body('{"owner":{"mail":"ada@example.org"}}')];
  expect(toldError({ error, bodies })).toBe('Error: Card … of … is refused by 127.0.0.1:9042');
});

test('a body that is not JSON is one value', () => {
  const error = new Error('No way to read "a secret".');
  expect(toldError({ error, bodies: [body('a secret')] })).toBe('Error: No way to read "…".');
});

test('an error of Prisma is given without its lines of code, and anything may be thrown', () => {
  const text = 'Invalid `prisma.order.create()` invocation in\n/app/a.ts:1\n\n  1 a\n\nThe bank is closed.';
  const error = Object.assign(new Error(text), { name: 'PrismaClientKnownRequestError' });
  expect(toldError({ error, bodies: [] })).toBe('PrismaClientKnownRequestError: The bank is closed.');
  expect(toldError({ error: undefined, bodies: [] })).toBe('undefined');
  expect(toldError({ error: new Error('long '.repeat(500)), bodies: [] }).length).toBeLessThanOrEqual(401);
});
