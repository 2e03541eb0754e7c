import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { currentForm } from '../../../src/outbox/current-form.ts';

const third = topic('third', z.unknown(), {
  version: 3,
  upcast: { 2: (old) => z.string().parse(old).toUpperCase() },
});

test('a stored payload is checked in the form in which consumers will check it', () => {
  expect(currentForm(third, 'a', { 'outbox-version': '2' })).toBe('A');
  expect(currentForm(third, 'a', { 'outbox-version': '3' })).toBe('a');
  expect(currentForm(topic('first', z.unknown()), 'a', null)).toBe('a');
});

test.for([
  ['of a version without an upcaster', null, 'of version 1'],
  ['of a newer version', { 'outbox-version': '4' }, 'of version 4'],
  ['with an invalid version', { 'outbox-version': 'x' }, 'of version unknown'],
  ['that the upcaster refuses', { 'outbox-version': '2' }, 'the upcaster of version 2'],
] as const)('a payload %s is refused', ([, headers, why]) => {
  expect(() => currentForm(third, 7, headers)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_PAYLOAD_INVALID',
      message: expect.stringMatching(new RegExp(why, 'i')),
    }),
  );
});
