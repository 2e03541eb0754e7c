import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { beginHour, everySeconds, gapSeconds, play, secondOf, type Told } from './hour/hour.ts';
import type { Incident, Sign, ToTell } from './hour/incident.ts';
import { incidents } from './hour/incidents.ts';

/** From the end of a fact until the readings without it make sure of that. */
const calmSeconds = 4 * everySeconds;

let lanes: LaneFixture;

beforeAll(async () => {
  lanes = await laneFixture();
  await beginHour(lanes);
});
afterAll(() => lanes.drop());

const named = ({ rule, subject }: { rule: string; subject: string }): string => `${rule} of ${subject}`;

/** Whether it was told in time, with its cause and the times of the fact; otherwise what is wrong. */
function faultsOf({ at }: Incident, wanted: ToTell, told: readonly Told[]): readonly string[] {
  const begin = secondOf(at);
  const [beyond, over] = [begin + wanted.beyond, begin + wanted.over];
  const later = told.filter((one) => named(one) === named(wanted) && one.at >= beyond);
  const first = later.find(({ state }) => state === 'FIRING');
  const last = later.find(({ at: end, state }) => state === 'OVER' && end > (first?.at ?? 0));
  if (first === undefined || last === undefined) return [`${named(wanted)} was not told, or not told over`];
  const right = {
    'told in time': first.at <= beyond + everySeconds + gapSeconds,
    'with what it is about': first.text.includes(wanted.subject),
    'with its cause': wanted.because.test(first.text),
    'since it lasts': Math.abs(first.since - begin - wanted.since) <= everySeconds,
    'told over in time': last.at <= over + everySeconds + calmSeconds + gapSeconds,
    'over when it was': last.until >= over && last.until <= over + everySeconds,
  };
  return Object.entries(right).flatMap(([what, isSo]) =>
    isSo ? [] : [`${named(wanted)} is not ${what}: ${JSON.stringify([first, last, begin])}`],
  );
}

const wantedOf = (those: readonly Incident[]): readonly string[] =>
  those
    .flatMap(({ tells }) => tells)
    .flatMap((one) => [`FIRING ${named(one)}`, `OVER ${named(one)}`])
    .toSorted();

const toldOf = (told: readonly Told[]): readonly string[] =>
  told.map((one) => `${one.state} ${named(one)}`).toSorted();

test('the table has all 24 incidents, each with its alerts or the reason why there is none', () => {
  const numbers = new Set(incidents.map(({ name }) => Number.parseInt(name, 10)));
  expect([...numbers]).toEqual(Array.from({ length: 24 }, (_one, n) => n + 1));
  expect(incidents.filter(({ tells, untold }) => (tells.length === 0) === (untold === undefined))).toEqual(
    [],
  );
});

const place = (path: string): URL => new URL(`../../../${path}`, import.meta.url);
const rules = readFileSync(place('deploy/prometheus/rules.test.yaml'), 'utf8');

function exists(sign: Sign): boolean {
  return 'prometheus' in sign ? rules.includes(`- name: ${sign.prometheus}\n`) : existsSync(place(sign.test));
}

test('of each incident in which something is wrong there is a sign, and a test of it, if it is no alert of this table', {
  tags: ['alerts-told-once'],
}, () => {
  const quiet = incidents.filter(({ tells, untold }) => tells.length === 0 && untold?.harmless !== false);
  expect(quiet.map(({ name }) => name.split(':')[0])).toEqual(['8', '9', '15', '17', '18', '19', '20']);

  const shown = incidents.filter(({ untold }) => untold?.harmless === false);
  expect(shown.filter(({ untold }) => untold?.signs.length === 0)).toEqual([]);
  const signs = incidents.flatMap(({ untold }) => untold?.signs ?? []);
  expect(signs.filter((sign) => !exists(sign))).toEqual([]);
});

test.each(incidents)('incident $name', { tags: ['alerts-told-once'] }, async (incident) => {
  const begin = secondOf(incident.at);
  const after = incident.seconds + 2 * (calmSeconds + gapSeconds);
  // Readings fall on the quarters of a minute, as in the whole hour.
  const told = await play(lanes, [incident], [begin - (begin % everySeconds), begin + after]);

  expect(toldOf(told)).toEqual(wantedOf([incident]));
  expect(incident.tells.flatMap((wanted) => faultsOf(incident, wanted, told))).toEqual([]);
});

test('in an hour with all incidents each alert is told once when it begins and once when it is over, in time and with its cause', {
  tags: ['alerts-told-once'],
}, async () => {
  const told = await play(lanes, incidents, [secondOf('13:02:00'), secondOf('14:05:00')]);

  expect(told.filter(({ state }) => state === 'STILL FIRING')).toEqual([]);
  expect(toldOf(told)).toEqual(wantedOf(incidents));
  expect(
    incidents.flatMap((incident) => incident.tells.flatMap((wanted) => faultsOf(incident, wanted, told))),
  ).toEqual([]);
});
