import { beforeEach, expect, test } from 'vitest';
import { Wake } from '../../../src/core/wake.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { claimSql } from '../../../src/store/lane/claim.ts';
import { setPaused } from '../../../src/store/lane/pause.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

const author = { actor: 'a test', reason: 'to see what is sent' };

let fixture: LaneFixture;
let claims: { begun: number; answered: number };
eachLane((made) => (fixture = made));
beforeEach(async () => {
  claims = { begun: 0, answered: 0 };
});

/** The database, with its claims counted. */
function counting(): Database {
  return {
    ...fixture.database,
    query: async (text, values) => {
      if (text !== claimSql) return fixture.database.query(text, values);
      claims.begun += 1;
      const rows = await fixture.database.query(text, values);
      claims.answered += 1;
      return rows as never;
    },
  };
}

const drain = (messages = 2) => fixture.drain({ database: counting(), batch: { messages } });

/** Keeps the first batch on the wire until the next claim was answered and `meanwhile` has happened. */
function whileOnTheWire(meanwhile: () => Promise<unknown> = async () => undefined): void {
  fixture.broker.after = async () => {
    fixture.broker.after = () => undefined;
    await until(() => claims.answered === 2);
    await meanwhile();
  };
}

async function sendAll(...labels: readonly string[]): Promise<void> {
  for (const label of labels) await fixture.send(label, { key: label.charAt(0) });
}

test('while a full batch is on the wire the next one is claimed, once', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2', 'a3');
  whileOnTheWire();

  expect(await drain()).toBe('quiet');

  expect(fixture.broker.labels).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  expect(fixture.broker.batches.map((batch) => batch.length)).toEqual([2, 2, 1]);
  // One for each batch, and one that finds nothing.
  expect(claims.begun).toBe(4);
  expect(await fixture.database.query('select count(*)::integer as count from outbox.batch')).toEqual([
    { count: 3 },
  ]);
});

test('behind a partial batch the next one is claimed at its acknowledgement if a ring has come', async () => {
  await sendAll('a1');
  const wake = new Wake();
  const onTheWire: number[] = [];
  fixture.broker.after = async () => {
    onTheWire.push(claims.begun);
    if (onTheWire.length > 1) return;
    await sendAll('a2');
    wake.ring();
  };
  const database = counting();
  let settles = 0;
  const settlingSlowly: Database = {
    ...database,
    query: async (text, values) => {
      if (text.includes('outbox.pass(')) {
        settles += 1;
        if (settles === 1) await until(() => claims.answered === 2);
      }
      return database.query(text, values);
    },
  };

  await fixture.drain({ database: settlingSlowly, wake });

  expect(fixture.broker.labels).toEqual(['a1', 'a2']);
  expect(onTheWire).toEqual([1, 2]);
  // The last one finds nothing, when the time is over after which the lane is quiet.
  expect(claims.begun).toBe(3);
});

test('a message rung for and claimed behind a partial batch is sent at once, not at the next check', async () => {
  await sendAll('a1');
  const wake = new Wake();
  const stop = new AbortController();
  fixture.broker.after = async () => {
    fixture.broker.after = () => undefined;
    await sendAll('a2');
    wake.ring();
  };
  const draining = fixture.drain({
    wake,
    signal: stop.signal,
    timings: { ...defaultTimings, laneIdleTimeoutMs: 60_000, checkIntervalMs: 60_000 },
  });

  // What is claimed when the drain is stopped is not sent any more.
  await until(() => fixture.broker.labels.length === 2).catch(() => undefined);
  stop.abort();
  await draining;

  expect(fixture.broker.labels).toEqual(['a1', 'a2']);
});

test('a lane that has caught up is not claimed from until a ring', async () => {
  await sendAll('a1');
  const wake = new Wake();
  const stop = new AbortController();
  const draining = fixture.drain({
    database: counting(),
    wake,
    signal: stop.signal,
    timings: { ...defaultTimings, laneIdleTimeoutMs: 60_000, checkIntervalMs: 60_000 },
  });
  await until(() => fixture.events.some(({ type }) => type === 'batch-settled'));
  await sendAll('a2');
  expect(claims.begun).toBe(1);

  wake.ring();
  await until(() => fixture.broker.labels.length === 2);
  stop.abort();
  await draining;

  expect(fixture.broker.labels).toEqual(['a1', 'a2']);
  expect(claims.begun).toBe(2);
});

test('a claim behind a batch with a refused message is repeated: the key of that message waits', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2');
  fixture.broker.judge = (message) => (labelOf(message) === 'a1' ? 'reject' : 'store');
  whileOnTheWire();

  await drain();

  expect(fixture.broker.labels).toEqual(['b1', 'b2']);
  expect(await fixture.states('a1', 'a2', 'b2')).toEqual(['retrying', 'blocked', 'published']);
});

test('a claim behind a batch that a hold kept back is not sent before it', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2');
  let holding = true;
  fixture.broker.judge = (message) => (holding && labelOf(message) === 'a1' ? 'hold' : 'store');
  whileOnTheWire(async () => (holding = false));

  await drain();

  expect(fixture.broker.labels).toEqual(['b1', 'a1', 'a2', 'b2']);
});

test('a claim made before a pause is not sent after it', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2');
  whileOnTheWire(() => setPaused(fixture.database, { topic: fixture.topic }, true, author));

  expect(await drain()).toBe('quiet');

  expect(fixture.broker.labels).toEqual(['a1', 'b1']);
  expect(await fixture.states('a2', 'b2')).toEqual(['ready', 'ready']);
  expect(await fixture.laneRow()).toMatchObject({ owner: null });
});

test('a claim of an owner that has lost the lane is not sent', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2');
  whileOnTheWire(() => fixture.database.query('update outbox.lane set owner = gen_random_uuid()'));

  await drain();

  expect(fixture.broker.labels).toEqual(['a1', 'b1']);
  expect(fixture.events).toContainEqual({ type: 'lane-lost', ...fixture.lane });
});

test('a message that commits at a lower position after the claim is sent once, and behind no later one of its key', async () => {
  const late = await fixture.begin();
  await fixture.send('c0', { key: 'c' }, late);
  await sendAll('a1', 'b1', 'a2', 'b2', 'a3');
  whileOnTheWire(async () => {
    await late.commit();
    await sendAll('c1');
  });

  await drain();

  expect(fixture.broker.labels).toEqual(['a1', 'b1', 'a2', 'b2', 'c0', 'a3', 'c1']);
});

test('a failed claim ahead is repeated', async () => {
  await sendAll('a1', 'b1', 'a2', 'b2');
  const database = counting();
  const failing: Database = {
    ...database,
    query: (text, values) => {
      if (text !== claimSql || claims.begun !== 1) return database.query(text, values);
      claims.begun += 1;
      return Promise.reject(new Error('refused'));
    },
  };

  await fixture.drain({ database: failing, batch: { messages: 2 } });

  expect(fixture.broker.labels).toEqual(['a1', 'b1', 'a2', 'b2']);
  expect(await fixture.states('a1', 'b1', 'a2', 'b2')).toEqual(Array(4).fill('published'));
});
