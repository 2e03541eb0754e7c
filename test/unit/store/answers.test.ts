import { expect, test } from 'vitest';
import {
  choiceCell,
  flagCell,
  jsonCell,
  numberCell,
  orNull,
  readRow,
  textCell,
} from '../../../src/store/database/answers.ts';

const read = (reader: (cell: unknown) => unknown, cell: unknown): unknown => {
  try {
    return reader(cell);
  } catch (error) {
    expect(error).toMatchObject({ code: 'OUTBOX_CLIENT_UNFIT' });
    return 'refused';
  }
};

test.each([
  ['a flag', flagCell, [true, 't', 'true'], true],
  ['a flag', flagCell, [false, 'f', 'false'], false],
  ['a flag', flagCell, ['', 'T', 1, 0, null, undefined], 'refused'],
  ['a number', numberCell, [12, 12n, '12', '12.0'], 12],
  ['a number', numberCell, ['', '12 apples', Number.NaN, true, null, undefined], 'refused'],
  ['a text', textCell, ['12'], '12'],
  ['a text', textCell, [12, Buffer.from('12'), null, undefined], 'refused'],
  ['a choice', choiceCell('a', 'b'), ['b'], 'b'],
  ['a choice', choiceCell('a', 'b'), ['c', '', null, undefined], 'refused'],
  ['a text or null', orNull(textCell), [null], null],
  ['a text or null', orNull(textCell), [undefined, 12], 'refused'],
  ['JSON', jsonCell, ['12', ' 12 '], 12],
  ['JSON', jsonCell, [12, '{', '', null], 'refused'],
] as const)('%s is read as clients return it: %#', (_what, reader, cells, value) => {
  expect(cells.map((cell) => read(reader, cell))).toEqual(cells.map(() => value));
});

test('a row that a client drops is no answer', () => {
  expect(() => readRow([], { n: numberCell })).toThrow('returned no row');
  expect(readRow([{ n: '1' }, { n: '2' }], { n: numberCell })).toEqual({ n: 1 });
});
