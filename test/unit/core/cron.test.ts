import { expect, test } from 'vitest';
import { cronTimes, readCron } from '../../../src/core/cron.ts';

test.for([
  ['0 0 * * 7', '0 0 * * 7'],
  ['@daily', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  [' 0  6 *\t* MON-FRI ', '0 6 * * MON-FRI'],
  ['0 0 29 2 *', '0 0 29 2 *'],
  ['0 0 30,31 2,4 *', '0 0 30,31 2,4 *'],
])('the line %j is read as %j', ([given, line]) => {
  expect(readCron(given ?? '')).toMatchObject({ line });
});

test.for([
  ['60 0 * * *', 'minute', '60'],
  ['0 24 * * *', 'hour', '24'],
  ['0 6-4 * * *', 'hour', '6-4'],
  ['*/0 * * * *', 'minute', '*/0'],
  ['0 0 32 * *', 'day of the month', '32'],
  ['0 0 L * *', 'day of the month', 'L'],
  ['0 0 * MAI *', 'month', 'MAI'],
  ['0 0 * * 8', 'day of the week', '8'],
  ['0 0 * * *,1', 'day of the week', '*,1'],
  ['5/10 * * * *', 'minute', '5/10'],
])('the refusal of %j names the %s, and %j', ([line = '', field, text]) => {
  expect(readCron(line)).toEqual({
    fault: expect.stringMatching(
      new RegExp(`^must have as ${field} .*not '${text?.replaceAll('*', '\\*')}'$`),
    ),
  });
});

test.for(['0 0 6 * * *', '', '@every 1h', '0 0 * *', `0 0 * * ${'1,'.repeat(100)}1`])(
  'the refusal of %j names the five fields',
  (line) => {
    expect(readCron(line)).toEqual({
      fault: expect.stringContaining('five fields (minute, hour, day of the month, month, day of the week)'),
    });
  },
);

test.for(['0 0 31 2 *', '0 0 30 FEB *', '0 0 31 4,6,9,11 *'])(
  'the line %j never occurs',
  { tags: ['repeating-messages'] },
  (line) => {
    expect(readCron(line)).toEqual({ fault: expect.stringContaining('never occurs') });
  },
);

test('a line restricts one of the days at most', () => {
  expect(readCron('0 6 1 * MON')).toEqual({ fault: expect.stringContaining('day of the week') });
});

test.for([
  ['* * * * *', 'UTC', '2026-11-28T05:07:00.000Z', true],
  ['* * * * *', 'UTC', '2026-11-28T05:07:01.000Z', false],
  ['* * * * *', 'UTC', '2026-11-28T05:07:00.001Z', false],
  ['*/15 6 * * *', 'Europe/Berlin', '2026-11-28T05:45:00.000Z', true],
  ['*/15 6 * * *', 'Europe/Berlin', '2026-07-28T05:45:00.000Z', false],
  ['0 0 * * *', 'Asia/Kolkata', '2026-11-27T18:30:00.000Z', true],
  ['0 0 * * 7', 'UTC', '2026-11-29T00:00:00.000Z', true],
  ['0 0 * * SUN', 'UTC', '2026-11-28T00:00:00.000Z', false],
  ['0 0 * * 5-7', 'UTC', '2026-11-29T00:00:00.000Z', true],
  ['0 0 31 * *', 'UTC', '2026-10-31T00:00:00.000Z', true],
  ['0 0 * JAN-JUN/2 *', 'UTC', '2026-03-07T00:00:00.000Z', true],
  ['0 0 * JAN-JUN/2 *', 'UTC', '2026-02-07T00:00:00.000Z', false],
  // Twice on the clock: in summer time, then in winter time.
  ['30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00.000Z', true],
  ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:30:00.000Z', true],
] as const)('whether %j in %s has the time %s: %j', ([line, zone, at, is]) => {
  expect(cronTimes(line, zone)(new Date(at))).toBe(is);
});
