import { expect, test } from 'vitest';
import { tellFailures } from '../../../src/relay/tell-failures.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';

const range = 'untold_from as first';
const read = 'from outbox.attempt t';
const note = 'untold_from = null';
const untold = { first: '5', last: '7' };
const tried = { id: 'a', key: 'k', attempt: 2, outcome: 'rejected', error: 'refused' };
const place = { topic: 'orders', lane: 3, transport: 'scripted', address: 'elsewhere' };

test('an attempt followed by another one and a final one are reported with all details, then recorded as reported', async () => {
  const { database, input, events } = drainStage({ address: 'elsewhere' });
  const last = { ...tried, id: 'b', outcome: 'permanent' };
  database.on(range, [untold]).on(read, [
    { ...tried, retryInMs: 5 },
    { ...last, retryInMs: null },
  ]);
  database.on(note, () => {
    expect(events).toHaveLength(2);
    return [];
  });
  expect(await tellFailures(input, 'owner')).toBe(true);
  expect(events).toEqual([
    { type: 'attempt-failed', retryInMs: 5, ...tried, ...place },
    { type: 'failed', ...last, ...place },
  ]);
  expect(database.asked.map(({ values }) => values)).toEqual([
    ['orders', 3, 'owner'],
    ['orders', 3, '5', '7'],
    ['orders', 3, 'owner', '5', '7'],
  ]);
});

test('keys of a topic that hides them are not reported', async () => {
  const { database, input, events } = drainStage({ visible: false });
  database
    .on(range, [untold])
    .on(read, [{ ...tried, retryInMs: null }])
    .on(note, []);
  await tellFailures(input, 'owner');
  expect(events).toMatchObject([{ id: 'a', key: null }]);
});

test('a failure that could not be read or recorded is reported again', async () => {
  for (const part of [range, read, note]) {
    const { database, input, events } = drainStage();
    const error = new Error('no connection');
    database.on(range, [untold]).on(read, []).on(note, []).refuse(part, error);
    expect(await tellFailures(input, 'owner')).toBe(false);
    expect(events).toEqual([{ type: 'error', during: 'tell', error }]);
  }
});

test('while the topic is changed, or where everything was told, nothing is read or recorded', async () => {
  const { database, input, events } = drainStage();
  database.on(range, []);
  expect(await tellFailures(input, 'owner')).toBe(true);
  expect(events).toEqual([]);
  expect(database.asked).toHaveLength(1);
});
