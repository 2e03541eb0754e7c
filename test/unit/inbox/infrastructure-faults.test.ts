import { expect, test } from 'vitest';
import { type Fault, faultOf, saysAborted } from '../../../src/inbox/handling/infrastructure-faults.ts';

const coded = (code: unknown, message = 'no'): Error => Object.assign(new Error(message), { code });

test.each<[unknown, Fault | undefined]>([
  ['40001', 'conflict'],
  ['40P01', 'conflict'],
  ['P2034', 'conflict'],
  ['08006', 'away'],
  ['25006', 'away'],
  ['25P03', 'away'],
  ['25P04', 'away'],
  ['53300', 'away'],
  ['57P01', 'away'],
  ['57P03', 'away'],
  ['58030', 'away'],
  ['P1001', 'away'],
  ['P2024', 'away'],
  ['57014', undefined],
  ['55P03', undefined],
  ['23505', undefined],
  ['25P02', undefined],
  ['P2002', undefined],
  ['08', undefined],
  ['0800', undefined],
  ['080061', undefined],
  [8_006, undefined],
])('an error with the code %s is classified: %s', (code, fault) => {
  expect(faultOf(coded(code))).toBe(fault);
  expect(faultOf(new Error('Invalid invocation', { cause: coded(code) })), 'as a cause').toBe(fault);
  expect(faultOf(new Error('P2010', { cause: { originalCode: code } })), 'as a driver tells it').toBe(fault);
});

test.each<[string, Fault | undefined]>([
  ['Connection terminated unexpectedly', 'away'],
  ['Client has encountered a connection error and is not queryable', 'away'],
  ['timeout exceeded when trying to connect', 'away'],
  ['Transaction API error: Unable to start a transaction in the given time.', 'away'],
  ['Transaction API error: A query cannot be executed on an expired transaction.', undefined],
  ['The handler said: Connection terminated', undefined],
])('an error without a code is classified by its text: %s', (text, fault) => {
  expect(faultOf(new Error(text))).toBe(fault);
});

test('a statement refused because an earlier one has failed is recognized by its code', () => {
  expect([
    saysAborted(coded('25P02')),
    saysAborted(new Error('no', { cause: { originalCode: '25P02' } })),
    saysAborted(coded('25P03')),
    saysAborted(new Error('25P02')),
  ]).toEqual([true, true, false, false]);
});
