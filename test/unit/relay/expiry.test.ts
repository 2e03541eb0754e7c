import { expect, test } from 'vitest';
import { Expiry } from '../../../src/relay/expiry.ts';
import { soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';
import { until } from '../../support/fixtures/until.ts';

const expired = { id: 'm-1', topic: 'orders', lane: 0, key: null, maybePublished: false };

test('a stop waits for the page of expired messages under way, and begins no other', async () => {
  let answer: (rows: readonly object[]) => void = () => undefined;
  const page = new Promise<readonly object[]>((resolve) => (answer = resolve));
  const database = new ScriptedDatabase().on('with over as', () => page);
  const told: string[] = [];
  const expiry = new Expiry(database, ({ type }) => told.push(type));
  void expiry.check();
  await until(() => database.asked.length === 1);

  const stopped = soFar(expiry.stop());
  await new Promise(setImmediate);
  expect(stopped.state, 'while the page is under way').toBe('open');
  answer(Array.from({ length: 1_000 }, () => expired));
  await until(() => stopped.state === 'resolved');
  expect(told).toHaveLength(1_000);
  expect(database.asked).toHaveLength(1);
});
