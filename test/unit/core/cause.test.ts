import { expect, test } from 'vitest';
import { causeIn } from '../../../src/core/cause.ts';

test('of an error of Prisma the cause is shown, but neither the call nor its location', () => {
  const text = `PrismaClientKnownRequestError: 
Invalid \`tx.order.update()\` invocation in
/app/src/consume.ts:12:20

   9 .on(orderTimeout, async (tx, { payload }) => {
→ 12   await tx.order.update(

An operation failed because it depends on one or more records that were required but not found.
No record was found for an update.`;
  expect(causeIn(text)).toBe(
    'PrismaClientKnownRequestError: An operation failed because it depends on one or more records that were required but not found. No record was found for an update.',
  );
});

test('of an error of Prisma whose lines of code come first, these are left out', () => {
  const text = `PrismaClientKnownRequestError: 
Invalid \`tx.order.updateMany()\` invocation in
/app/src/consume.ts:25:47

  22 .on(orderTimeout, async (tx, { payload }) => {
  23 
→ 25   const { count } = await tx.order.updateMany(
No record was found for an update.`;
  expect(causeIn(text)).toBe('PrismaClientKnownRequestError: No record was found for an update.');
});

test('a stack is left out, and a single line is unchanged', () => {
  expect(
    causeIn(
      'TypeError: x is not a function\n    at handler (/app/a.js:1:2)\n    at next (node:internal:3:4)',
    ),
  ).toBe('TypeError: x is not a function');
  expect(causeIn('Error: the bank is closed.')).toBe('Error: the bank is closed.');
  expect(causeIn('')).toBe('');
});
