import { expect, test } from 'vitest';
import { tellFailures } from '../../../src/relay/tell-failures.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';

const range = 'untold_from as first';
const read = 'from outbox.attempt t';
const note = 'untold_from = null';
const untold = { first: '5', last: '7' };

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
