import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const { release, claim } = asked;
const batch = (...positions: readonly number[]) => ({
  messages: positions.map((position) => rowOf(position)),
});

/** A drain whose releases end at these keys, and then at the last one. */
function releasing(...ends: readonly string[]) {
  const drain = scriptedDrain();
  const left = [...ends];
  drain.database.on(release, () => [{ freed: true, released: 1, next: left.shift() ?? '' }]);
  const steps = () => drain.parts().filter((part) => part === release || part === claim);
  const startsOf = () => drain.database.valuesOf(release).map(([, , , after]) => after);
  return { ...drain, steps, startsOf };
}

test('blocked messages are released before the first claim, and key by key until all were checked', async () => {
  const { claims, begin, steps, startsOf } = releasing('k3', 'k6');
  claims.push({ freed: true }, { freed: true }, { freed: false });
  begin();
  await pass(0);
  expect(steps()).toEqual([release, claim, release, claim, release, claim]);
  expect(startsOf()).toEqual(['', 'k3', 'k6']);
  await pass(1_000);
  expect(steps().slice(6)).toEqual([claim]);
});

test('a message still blocked after a release of all is locked, and checked again with the next claim, from the start', async () => {
  const { claims, begin, steps, startsOf, database } = releasing('k3');
  claims.push(...Array.from({ length: 10 }, () => ({ freed: true })));
  const answer = begin();
  await pass(0);
  expect(steps()).toEqual([release, claim, release, claim]);
  await pass(1_000);
  expect(steps().slice(4)).toEqual([release, claim]);
  expect(startsOf()).toEqual(['', 'k3', '']);
  await pass(4_000);
  expect(answer.value).toBe('quiet');
  expect(database.valuesOf(asked.free)).toHaveLength(1);
});

test('a claim that finds free keys releases them at once', async () => {
  const { claims, begin, steps } = releasing();
  claims.push({ freed: false }, { freed: true }, { freed: false });
  begin();
  await pass(1_000);
  expect(steps()).toEqual([release, claim, claim, release, claim]);
});

test('nothing is claimed ahead of a release', async () => {
  const { claims, begin, steps, broker } = releasing();
  claims.push({ ...batch(1), truncated: true, freed: true }, { ...batch(2), freed: false });
  let before = 0;
  broker.before = () => void (before ||= steps().length);
  begin();
  await pass(0);
  expect(before).toBe(2);
  expect(steps()).toEqual([release, claim, release, claim]);
});

test('a lane has not sent everything while keys of it may be free', async () => {
  const { claims, begin } = releasing('', '');
  const told: string[] = [];
  claims.push(
    { ...batch(1), snapshot: '5:5:', freed: true },
    { snapshot: '6:6:', freed: true },
    { snapshot: '7:7:', freed: false },
  );
  begin({ caughtUp: (snapshot) => told.push(snapshot) });
  await pass(999);
  expect(told).toEqual([]);
  await pass(1);
  expect(told).toEqual(['7:7:']);
});
