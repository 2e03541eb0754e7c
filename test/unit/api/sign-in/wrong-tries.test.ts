import { expect, test } from 'vitest';
import { WrongTries } from '../../../../src/api/sign-in/wrong-tries.ts';

function clocked() {
  const clock = { now: 0 };
  return { clock, tries: new WrongTries(() => clock.now) };
}
const one = { what: 'ada', most: 2 };

test('a minute after a wrong try there is room for another', () => {
  const { clock, tries } = clocked();
  expect(tries.begin([one])).toBeDefined();
  clock.now = 30_000;
  expect(tries.begin([one])).toBeDefined();
  expect(tries.begin([one])).toBeUndefined();
  clock.now = 59_999;
  expect(tries.begin([one])).toBeUndefined();
  clock.now = 60_001;
  expect(tries.begin([one])).toBeDefined();
  expect(tries.begin([one])).toBeUndefined();
});

test('a try that is refused counts for nothing', () => {
  const { tries } = clocked();
  const other = { what: 'eve', most: 2 };
  tries.begin([one]);
  tries.begin([one]);
  for (let time = 0; time < 5; time += 1) expect(tries.begin([other, one])).toBeUndefined();
  expect(tries.begin([other])).toBeDefined();
});

test('many names neither fill the memory nor free the others from the limit', () => {
  const { clock, tries } = clocked();
  for (let n = 0; n < 10_000; n += 1) expect(tries.begin([{ what: `${n}`, most: 1 }])).toBeDefined();
  expect(tries.begin([one])).toBeUndefined();
  clock.now = 60_001;
  expect(tries.begin([one])).toBeDefined();
});
