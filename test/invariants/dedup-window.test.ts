import { afterEach, beforeEach, expect, test } from 'vitest';
import { dayMs, EpochFixture } from '../support/fixtures/epoch-fixture.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { type Random, seededRandom } from '../support/fixtures/random.ts';
import { until } from '../support/fixtures/until.ts';

let fixture: EpochFixture;
beforeEach(async () => {
  fixture = await EpochFixture.create();
  await fixture.database.query('create table effect (id text not null)');
});
afterEach(() => fixture.drop());

/** What became of the transactions of a crowd. */
interface Tally {
  committed: number;
  refused: number;
}

/** Seconds are enough where nothing else runs. */
const raceWithinMs = 60_000;

const isolations = ['read committed', 'repeatable read', 'serializable'] as const;

/** One transaction: looks around, notes a few ids, has the effect of those that are new, takes its time. */
async function handle(random: Random, newest: () => number, tally: Tally): Promise<void> {
  const isolation = random.pick(isolations) ?? 'read committed';
  const ids = Array.from({ length: 1 + random.below(4) }, () => String(newest() - random.below(30)));
  try {
    await fixture.database.transaction(async (sql) => {
      await sql.query(`set transaction isolation level ${isolation}`);
      // From here on, an old snapshot is old.
      await sql.query('select from outbox.processed_epoch');
      if (random.chance(0.5)) await sql.query('select pg_sleep($1)', [random.next() / 50]);
      const fresh = await fixture.mark(ids, 'g', sql);
      for (const id of fresh) await sql.query('insert into effect values ($1)', [id]);
      if (random.chance(0.5)) await sql.query('select pg_sleep($1)', [random.next() / 50]);
    });
    tally.committed += 1;
  } catch (error) {
    // A serialization failure, as any transaction with a snapshot of its own must expect; nothing else.
    expect(error).toMatchObject({ code: '40001' });
    expect(isolation).not.toBe('read committed');
    tally.refused += 1;
  }
}

async function twice(): Promise<readonly unknown[]> {
  return fixture.database.query(
    'select id, count(*)::integer as effects from effect group by id having count(*) > 1',
  );
}

test.each([1, 2])(
  'I12: no id is new twice while epochs change under many transactions (seed %i)',
  { tags: ['window-kept'], timeout: 2 * raceWithinMs },
  async (seed) => {
    const tally: Tally = { committed: 0, refused: 0 };
    let id = 30;
    let rolls = 0;
    // The race is there when epochs have ended among the transactions, and old snapshots were caught.
    const raced = (): boolean => rolls > 10 && tally.committed > 500 && tally.refused > 5;
    const endsAt = performance.now() + raceWithinMs;
    const running = (): boolean => !raced() && performance.now() < endsAt;
    const crowd = Array.from({ length: 8 }, async (_, n) => {
      const random = seededRandom(seed * 100 + n);
      while (running()) {
        id += 1;
        await handle(random, () => id, tally);
      }
    });
    const rolling = async (): Promise<void> => {
      while (running()) if ((await fixture.roll()) === 'rolled') rolls += 1;
    };
    await Promise.all([...crowd, rolling()]);

    expect(await twice()).toEqual([]);
    expect(raced(), `${rolls} rolls, ${JSON.stringify(tally)}`).toBe(true);
  },
);

test('I12: a transaction whose snapshot is from before the end of an epoch cannot write into it', async () => {
  await fixture.mark(['before']);
  for (const isolation of ['repeatable read', 'serializable']) {
    const old = await openTransaction(fixture.url);
    await old.query(`set transaction isolation level ${isolation}`);
    await old.query('select from effect');
    expect(await fixture.roll()).toBe('rolled');
    expect(await fixture.mark([`of ${isolation}`])).toEqual([`of ${isolation}`]);

    await expect(fixture.mark([`of ${isolation}`], 'g', old)).rejects.toMatchObject({ code: '40001' });
    await old.rollback();
  }
});

/**
 * Notes new ids of its own, and some that it noted less than `days` ago, until the signal fires.
 *
 * @param noted told of every new id
 */
async function noteOn(
  name: string,
  days: number,
  today: () => number,
  noted: () => void,
  signal: AbortSignal,
): Promise<void> {
  const random = seededRandom(name.length + days);
  const notedOn: number[] = [];
  while (!signal.aborted) {
    // The day is looked at before: it may end before the commit.
    const day = today();
    const id = `${name}/${notedOn.length}`;
    expect(await fixture.mark([id])).toEqual([id]);
    notedOn.push(day);
    noted();
    const oldest = notedOn.findIndex((then) => today() - then < days);
    if (oldest < 0) continue;
    const again = `${name}/${oldest + random.below(Math.min(20, notedOn.length - oldest))}`;
    const answer = await fixture.mark([again]);
    // Days that have passed in between do not count against it.
    if (today() - (notedOn[oldest] ?? 0) < days) expect(answer).toEqual([]);
  }
}

test('I12: within its window an id is refused, however often epochs end and are dropped under load; after it, it is new again', {
  tags: ['window-kept'],
}, async () => {
  const days = 4;
  let day = 0;
  const over = new AbortController();
  const names = ['a', 'b', 'c', 'd'];
  const noted = new Map<string, number>();
  const countOf = (name: string): number => noted.get(name) ?? 0;
  const note = (name: string) =>
    noteOn(
      name,
      days,
      () => day,
      () => noted.set(name, countOf(name) + 1),
      over.signal,
    );
  const noting = Promise.all(names.map(note));
  // A failure there is reported at the end.
  noting.catch(() => over.abort());
  let dropped = 0;
  while (day < 12 && !over.signal.aborted) {
    // However slow the machine is, everybody has noted something on each day.
    await until(() => over.signal.aborted || names.every((name) => countOf(name) >= 3 * (day + 1)));
    await fixture.pass(dayMs);
    day += 1;
    for (let complete = false; !complete; ) {
      const kept = await fixture.keep(days * dayMs);
      dropped += kept.dropped;
      complete = kept.complete;
    }
  }
  over.abort();
  await noting;

  expect(dropped).toBeGreaterThan(3);
  expect(await fixture.mark(['a/0'])).toEqual(['a/0']);
});
