// @module-tag apart
import { expect, test } from 'vitest';
import { cronTimes, readCron } from '../../../src/core/cron.ts';
import { createRepeater } from '../../../src/temporal/relay/repeater.ts';
import { openStage } from '../../support/fixtures/stage.ts';

const nothing = { missedFrom: new Date('2999-01-01'), readAt: new Date(0) };
const minuteMs = 60_000;

/** Of clocks that change at 2:00, at midnight and never. Where they change by half an hour, Temporal lists times that are none of the line. */
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Asia/Beirut'];

const lines = [
  '*/7 * * * *',
  '30 * * * *',
  '0 0 * * *',
  '*/45 0-4 25-31 3,10,11 *',
  '30 2 25-31 MAR,OCT *',
  '15 1 1-7 4,NOV *',
  '0 9 * * SUN,3-5',
  '0 9 * * 7',
  '20 */5 * * 5-7',
  '20 4 * * 1-7/2',
  '20 4 * * */2',
  '0 6 1-31/9 JAN-DEC/2 *',
];

test('the times of a line are those that Temporal lists in each zone, and no others', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [] });
  const repeater = createRepeater(stage.temporal, stage.installation);
  context.onTestFinished(() => repeater.drop('lines'));
  for (const timeZone of zones)
    for (const cron of lines) {
      const [from, ...listed] = await repeater.follow(
        { name: 'lines', cron, everyMs: null, timeZone, catchUpMs: 10_000, paused: false },
        nothing,
      );
      expect(readCron(cron)).toMatchObject({ line: cron });
      const isTime = cronTimes(cron, timeZone);
      const clock = new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short', timeStyle: 'short' });
      const [fromMs = 0, toMs = 0] = [from?.getTime(), listed.at(-1)?.getTime()];
      // A local time that occurs twice is listed once or twice.
      const shown = new Set<string>();
      for (let at = fromMs; at <= toMs; at = nextOf(at, toMs)) {
        if (isTime(new Date(at))) shown.add(clock.format(at));
      }
      const wanted = [from, ...listed].map((at) => clock.format(at));
      expect({ cron, timeZone, shown: [...shown] }).toEqual({
        cron,
        timeZone,
        shown: [...new Set(wanted)],
      });
    }
});

/** The minutes between times that are days apart are many. */
function nextOf(at: number, toMs: number): number {
  return at + (toMs - at > 20 * 24 * 60 * minuteMs ? 5 * minuteMs : minuteMs);
}
