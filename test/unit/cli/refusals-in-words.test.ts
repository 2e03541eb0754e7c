import { expect, test } from 'vitest';
import { refusalLines } from '../../../src/cli/refusals-in-words.ts';
import { whatRemains } from '../../../src/operations/messages/what-remains.ts';

test('a refusal by the state says which state it is, and what is left to do', {
  tags: ['arguments-refused-at-the-border'],
}, () => {
  const tooLate = (state: string | null) => ({ result: 'too-late', state });
  expect(
    refusalLines('reschedule', [tooLate('retrying'), tooLate('retrying'), tooLate('published')]),
  ).toEqual([
    'too-late: retrying: retry delivers it now; cancel ends it if it was certainly not published.',
    'too-late: published: replay sends it again, with a new id.',
  ]);
  expect(refusalLines('retry', [tooLate('waiting')])[0]).toContain('reschedule moves its due time');
  expect(refusalLines('cancel', [tooLate('failed')])).toEqual([
    'too-late: failed: retry, edit or discard it.',
  ]);
  expect(refusalLines('discard', [tooLate('superseded'), tooLate(null)])).toEqual([
    'too-late: superseded: an edit has replaced it by a copy, see show.',
    'too-late: it is handled.',
  ]);
  expect(refusalLines('cancel', [{ result: 'canceled', state: 'canceled' }])).toEqual([]);
});

test.each(['retrying', 'blocked', 'waiting'])(
  'a %s message that cannot be canceled is not said to be ended by cancel',
  (state) => {
    for (const action of ['cancel', 'withdraw'])
      expect(whatRemains(action, state)).toBe('a try may have published it, so it cannot be canceled');
    expect(whatRemains('reschedule', state)).toContain('cancel ends it');
  },
);

test('of a ready message withdraw is named, except to who has just tried that', () => {
  expect(whatRemains('cancel', 'ready')).toContain('withdraw');
  expect(whatRemains('withdraw', 'ready')).not.toContain('withdraw');
});
