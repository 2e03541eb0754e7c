// @module-tag apart
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InboxMessage } from '../../src/inbox/reading/inbox-message.ts';
import { type Operations, operations } from '../../src/operations.ts';
import { InboxStage, type Numbered, range } from '../support/fixtures/inbox-stage.ts';
import { ada } from '../support/fixtures/operator.ts';
import { until } from '../support/fixtures/until.ts';

const partitions = 4;
const keys = range(0, 19);
/** Keys of which some messages fail until the bug is corrected, and those messages, by their round. */
const troubled = { keys: range(0, 5), rounds: [2, 4] };
const perKey = 1_000;
/** For what takes ten seconds where nothing else runs. */
const patientMs = 150_000;

let stage: InboxStage;
let operator: Operations;
beforeEach(async () => {
  stage = await InboxStage.create(partitions);
  operator = operations({ database: { url: stage.url } });
});
afterEach(async () => {
  await operator.close();
  await stage.end();
});

/** One message of every key. */
async function publishRound(round: number): Promise<void> {
  await stage.publish(
    keys.map((key) => ({ n: key * perKey + round, key: `key-${key}`, partition: key % partitions })),
  );
}

/** A handler that fails on some messages until it is corrected, and records what ran concurrently. */
class Handler {
  corrected = false;
  readonly overlaps: string[] = [];
  readonly #running = new Map<string, number>();

  async handle({ key, payload: { n } }: InboxMessage<Numbered>): Promise<void> {
    const name = key ?? '';
    const other = this.#running.get(name);
    if (other !== undefined) this.overlaps.push(`${other} and ${n} of ${name}`);
    this.#running.set(name, n);
    // The time that work takes, different each time; so long for the retried ones that others arrive during it.
    await delay(this.corrected && isTroubled(n) ? 400 : 1 + ((n * 7) % 5));
    this.#running.delete(name);
    if (!this.corrected && isTroubled(n)) throw new Error('a bug');
  }
}

function isTroubled(n: number): boolean {
  return troubled.keys.includes(Math.floor(n / perKey)) && troubled.rounds.includes(n % perKey);
}

/** Rounds of a key in the order of their effects. */
async function roundsOf(key: number): Promise<number[]> {
  return (await stage.effects()).filter((n) => Math.floor(n / perKey) === key).map((n) => n % perKey);
}

async function consumeTwice(handler: Handler, exhausted: 'release-key' | 'block-key'): Promise<void> {
  for (const name of ['one', 'two'])
    await stage.consume(name, {
      quickRetries: [],
      retry: [],
      exhausted,
      keyConcurrency: 4,
      afterEffect: (message) => handler.handle(message),
    });
}

/** The counts of a bulk operation, once its consumers have carried it out. */
async function ended(id: string | null): Promise<Readonly<Record<string, number>>> {
  await until(async () => (await operator.inbox.bulk.show(id ?? '')).state === 'done', patientMs);
  return (await operator.inbox.bulk.show(id ?? '')).counts;
}

const troubledCount = troubled.keys.length * troubled.rounds.length;

async function failed(): Promise<readonly string[]> {
  return (await stage.kept()).flatMap(({ id, state }) => (state === 'failed' ? [id] : []));
}

test('I3 messages that operators retry under load are handled once, in order, before later arrivals, and never together with one of their key', {
  tags: ['order-survives-parking'],
  timeout: 600_000,
}, async () => {
  const handler = new Handler();
  await consumeTwice(handler, 'release-key');
  let round = 0;
  const stop = new AbortController();
  const load = (async () => {
    while (!stop.signal.aborted) {
      round += 1;
      await publishRound(round);
    }
  })();
  // A failure there is reported when it is awaited.
  load.catch(() => undefined);
  await until(async () => (await failed()).length === troubledCount, patientMs);
  await until(async () => (await stage.effects()).length > 400, patientMs);
  handler.corrected = true;

  // Two operators at once: one names the messages, the latest first, the other takes all that a filter matches.
  const ids = (await failed()).toReversed();
  const [named, many] = await Promise.all([
    operator.inbox.retry({ group: stage.group, ids }, ada),
    operator.inbox.bulk.start({ group: stage.group, states: ['failed'] }, { action: 'retry' }, ada),
  ]);
  const { retried = 0 } = await ended(many.id);
  const retriedAfter = round + 1;
  expect(retried + named.filter(({ result }) => result === 'retried').length).toBeGreaterThanOrEqual(
    troubledCount,
  );
  await until(async () => (await stage.effects()).filter(isTroubled).length === troubledCount, patientMs);
  await until(() => round >= retriedAfter + 4);
  stop.abort();
  await load;
  await until(async () => (await stage.effects()).length === round * keys.length, patientMs);
  await until(async () => (await stage.parkedKeys()).length === 0, patientMs);

  expect(handler.overlaps).toEqual([]);
  for (const key of keys) {
    const rounds = await roundsOf(key);
    expect(
      rounds.toSorted((a, b) => a - b),
      `key ${key}, each once`,
    ).toEqual(range(1, round));
    if (!troubled.keys.includes(key)) expect(rounds).toEqual(range(1, round));
    else {
      const others = rounds.filter((n) => !troubled.rounds.includes(n));
      expect(others, `key ${key}, what did not fail`).toEqual(
        range(1, round).filter((n) => others.includes(n)),
      );
      const [first = 0, second = 0] = troubled.rounds.map((n) => rounds.indexOf(n));
      expect(first, `key ${key}, retried in their order`).toBeLessThan(second);
      const late = rounds.findIndex((n) => n > retriedAfter);
      expect(second, `key ${key}, before what arrived later`).toBeLessThan(late);
    }
  }
  expect(await stage.kept()).toEqual([]);
});

test('I3 a key that a failed message blocks waits as a whole and is handled in its full order after a retry, while others continue', {
  tags: ['order-survives-parking'],
}, async () => {
  const handler = new Handler();
  await consumeTwice(handler, 'block-key');
  const rounds = 8;
  for (let round = 1; round <= rounds; round += 1) await publishRound(round);
  const free = keys.length - troubled.keys.length;
  const [firstTroubled = 0] = troubled.rounds;
  const flowing = free * rounds + troubled.keys.length * (firstTroubled - 1);
  await until(async () => (await stage.effects()).length === flowing, patientMs);
  await until(async () => (await failed()).length === troubled.keys.length, patientMs);

  handler.corrected = true;
  const kept = (await stage.kept()).length;
  expect(kept).toBe(troubled.keys.length * (rounds - firstTroubled + 1));
  const { id } = await operator.inbox.bulk.start(
    { group: stage.group, states: ['failed'] },
    { action: 'retry' },
    ada,
  );
  expect(await ended(id)).toEqual({ retried: troubled.keys.length });
  await until(async () => (await stage.effects()).length === rounds * keys.length, patientMs);

  for (const key of keys) expect(await roundsOf(key), `key ${key}`).toEqual(range(1, rounds));
  expect(handler.overlaps).toEqual([]);
  await until(async () => (await stage.parkedKeys()).length === 0, patientMs);
  expect(await stage.kept()).toEqual([]);
});
