import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeOfText, textOfPlace } from '../../../src/api/live/tail-place.ts';

const textOf = (given: unknown): string => Buffer.from(JSON.stringify(given)).toString('base64url');
const since = '2026-11-27T08:09:10.123Z';

test.each(['3:3:', '3:9:3,5,8', '3:9:', '1:2:1'])(
  'the place of the snapshot %s is read as it was told',
  (snapshot) => {
    const text = textOfPlace({ since: '2026-11-27 08:09:10.1239+00', snapshot }) ?? '';
    expect(text).toMatch(/^[\w-]+$/);
    expect(placeOfText(text)).toEqual({ since, snapshot });
  },
);

test.each([
  '4:3:',
  '0:3:',
  '3:9:2',
  '3:9:9',
  '3:9:5,4',
  '3:9:5,',
  '3:9',
  '3:9:a',
  '',
  `3:9:${'5,'.repeat(1_000)}`,
  `1:${'9'.repeat(19)}:`,
])('%s is no snapshot, so nothing is asked of the database', (snapshot) => {
  expect(placeOfText(textOf([since, snapshot]))).toBeUndefined();
});

test('only a time that there is counts, and any other text is no place', () => {
  for (const wrong of [
    '2026-13-27T08:09:10Z',
    '2026-02-30T08:09:10Z',
    '2026-11-27T00:00:60Z',
    '2026-11-27T1:1Z',
    'infinity',
    '-infinity',
    '1999-01-01T00:00:00Z',
    'now',
    7,
    null,
  ])
    expect([wrong, placeOfText(textOf([wrong, '3:3:']))]).toEqual([wrong, undefined]);
  for (const wrong of [null, {}, [], 'text', { since, snapshot: '3:3:' }])
    expect(placeOfText(textOf(wrong))).toBeUndefined();
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => placeOfText(text) === undefined));
});

test('a place that would not fit in a header is not told', () => {
  const running = Array.from({ length: 2_000 }, (_, index) => index + 3).join(',');
  expect(textOfPlace({ since, snapshot: `3:9999:${running}` })).toBeUndefined();
});
