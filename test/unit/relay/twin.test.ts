import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { refuseTwin, reportTwin } from '../../../src/relay/twin.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const ask = 'insert into outbox.place_question';
const forget = 'delete from outbox.place_question where id';
const elsewhere = 'as elsewhere from outbox.installation';
const served = 'set served_since';
const noted = 'set twin =';

const twice = expect.objectContaining({
  code: 'OUTBOX_INSTALLATION_TWICE',
  message: 'Relays also deliver for this installation from another running database: clone.',
  details: { place: 'clone' },
});

/** A relay that asks another one, whose answers follow the test. */
function stage(answer: (n: number) => 'here' | 'elsewhere' | 'none') {
  const database = new ScriptedDatabase()
    .on(ask, [])
    .on(forget, [])
    .on(elsewhere, [{ elsewhere: true }])
    .on(served, [])
    .on(noted, []);
  const events: RelayEvent[] = [];
  const stop = new AbortController();
  const seen = { questions: [] as string[], progress: 0 };
  const askPlace = async (question: string) => {
    seen.questions.push(question);
    const place = answer(seen.questions.length);
    return place === 'none'
      ? undefined
      : { known: place === 'here', place: place === 'here' ? 'own' : 'clone' };
  };
  const search = { database, ask: askPlace, signal: stop.signal, progress: () => void (seen.progress += 1) };
  const report = (event: RelayEvent) => void events.push(event);
  return { database, events, stop, seen, askPlace, search, report };
}

test('one answer from this database, or none, is enough, and its question is deleted', async () => {
  for (const answer of ['here', 'none'] as const) {
    const { database, search, report, events, seen } = stage(() => answer);
    await byNow(reportTwin(search, report));
    expect(seen.questions).toHaveLength(1);
    expect(seen.progress).toBe(1);
    expect(database.valuesOf(ask)).toEqual([[seen.questions[0]]]);
    expect(database.valuesOf(forget)).toEqual([[seen.questions[0]]]);
    expect(events).toEqual([]);
    expect(database.valuesOf(noted)).toEqual([]);
  }
});

test('answers from elsewhere are a twin after ten seconds, in whatever turns the two answer', async () => {
  const { database, search, report, events, seen } = stage((n) => (n === 1 || n > 22 ? 'elsewhere' : 'here'));
  const done = soFar(reportTwin(search, report));
  await pass(10_500);
  expect(done.state).toBe('open');
  await pass(500);
  expect(done.state).toBe('resolved');
  expect(new Set(seen.questions).size).toBe(23);
  expect(seen.progress).toBe(23);
  expect(database.valuesOf(noted)).toEqual([['clone']]);
  expect(events).toEqual([{ type: 'error', during: 'installation', error: twice }]);
});

test('a twin is reported once it was seen for ten seconds', async () => {
  const { search, report, events } = stage(() => 'elsewhere');
  void reportTwin(search, report);
  await pass(9_999);
  expect(events).toEqual([]);
  await pass(1);
  expect(events).toHaveLength(1);
});

test('answers from elsewhere that end within ten seconds are a failover: the search lasts twenty', async () => {
  const { database, search, report, events, seen } = stage((n) => (n <= 5 ? 'elsewhere' : 'here'));
  const done = soFar(reportTwin(search, report));
  await pass(20_000);
  expect(done.state).toBe('open');
  await pass(500);
  expect(done.state).toBe('resolved');
  expect(seen.questions).toHaveLength(42);
  expect(events).toEqual([]);
  expect(database.valuesOf(noted)).toEqual([]);
});

test('a search ends with its signal', async () => {
  const { search, stop, report, events, seen } = stage(() => 'elsewhere');
  const done = soFar(reportTwin(search, report));
  await pass(1_200);
  stop.abort();
  await pass(0);
  expect(done.state).toBe('resolved');
  expect(seen.questions).toHaveLength(3);
  expect(events).toEqual([]);
});

test('a failed search is reported, unless it was stopped, and leaves no question', async () => {
  for (const stopped of [false, true]) {
    const { database, search, stop, report, events } = stage(() => 'here');
    const error = new Error('no connection');
    const failing = () => {
      if (stopped) stop.abort();
      return Promise.reject(error);
    };
    await byNow(reportTwin({ ...search, ask: failing }, report));
    expect(events).toEqual(stopped ? [] : [{ type: 'error', during: 'installation', error }]);
    expect(database.valuesOf(forget)).toHaveLength(1);
  }
});

test('a relay delivers from a database that was restarted unless there is a twin', async () => {
  const alone = stage(() => 'none');
  await byNow(refuseTwin(alone.database, alone.askPlace));
  expect(alone.seen.questions).toHaveLength(1);
  expect(alone.database.valuesOf(served)).toHaveLength(1);

  const beside = stage(() => 'elsewhere');
  const refused = soFar(refuseTwin(beside.database, beside.askPlace));
  await pass(10_000);
  expect(refused).toEqual({ state: 'rejected', error: twice });
  expect(beside.database.valuesOf(noted)).toEqual([['clone']]);
  expect(beside.database.valuesOf(served)).toEqual([]);
});

test('a relay does not ask if the database has not moved', async () => {
  const { database, askPlace, seen } = stage(() => 'elsewhere');
  database.on(elsewhere, [{ elsewhere: false }]);
  await byNow(refuseTwin(database, askPlace));
  expect(seen.questions).toEqual([]);
  expect(database.valuesOf(served)).toHaveLength(1);
});
