import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import type { DeadLetter, LetterOutcome } from '../../../src/inbox/parked/dead-letter.ts';
import { DeadLetters } from '../../../src/inbox/parked/dead-letters.ts';
import { readUncopied, takeLetterTurn } from '../../../src/store/inbox/dead-letters.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { fullScansOf, pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';
import { until } from '../../support/fixtures/until.ts';

let made: TestDatabase;
let prisma: PrismaClient;
let running: DeadLetters | undefined;
let events: ConsumerEvent[];
let taken: string[];
let calls: string[][];
/** What the broker answers to a letter that is not behind an untaken one of its key. */
let judge: (letter: DeadLetter) => LetterOutcome;

beforeEach(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
  [events, taken, calls] = [[], [], []];
  judge = () => ({ kind: 'taken' });
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await prisma.$disconnect();
  await made.drop();
});

const refused: LetterOutcome = { kind: 'refused', reason: 'too large' };
const idOf = (letter: DeadLetter): string => letter.headers['outbox-dead-id'] ?? '';

/** As transports do: nothing goes past an untaken letter of its key. */
function answer(letters: readonly DeadLetter[]): readonly LetterOutcome[] {
  calls.push(letters.map(idOf));
  const blocked = new Set<string | null>();
  return letters.map((letter) => {
    if (blocked.has(letter.key)) return { kind: 'blocked' };
    const outcome = judge(letter);
    if (outcome.kind === 'taken') taken.push(idOf(letter));
    else if (letter.key !== null) blocked.add(letter.key);
    return outcome;
  });
}

function start(paces: { firstAgainMs?: number; maxAgainMs?: number; turnMs?: number } = {}): DeadLetters {
  running = new DeadLetters({
    client: prisma,
    group: 'g',
    addresses: ['orders', 'mails'],
    deadAddressOf: (address) => `${address}.dead`,
    sender: { send: async (letters) => answer(letters), close: async () => undefined },
    report: (event) => events.push(event),
    paces: { lookMs: 3_600_000, firstAgainMs: 3_600_000, ...paces },
  });
  return running;
}

/** Failed messages `m1`, `m2`, …; every key has ten of them. */
async function fail(count: number, address = 'orders', prefix = 'm'): Promise<void> {
  const key = (n: number): string => `k${n % Math.ceil(count / 10)}`;
  const rows = Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n + 1}`, key: key(n) }));
  await made.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, key, address, partition, "offset", wire, sent_at)
     select 'g', r ->> 'id', 'failed', 'orders', r ->> 'key', $2, 0, '0', jsonb_build_object('key', r -> 'key', 'headers', '{}'::jsonb)::text, now()
     from jsonb_array_elements($1::jsonb) with ordinality e (r, n) order by n`,
    [JSON.stringify(rows), address],
  );
}

async function uncopied(): Promise<readonly string[]> {
  const rows = await made.database.query<{ id: string }>(
    'select message_id as id from outbox.parked where copied_at is null order by position',
  );
  return rows.map(({ id }) => id);
}

const failures = () => events.filter((event) => event.type === 'dead-letters-failing');
const sorted = (ids: readonly string[]): readonly string[] => ids.toSorted();

test('refused dead letters stay, and keep none of the others from being sent once, not even of their keys', async () => {
  await fail(250);
  const stuck = ['m1', 'm2', 'm11', 'm150'];
  judge = (letter) => (stuck.includes(idOf(letter)) ? refused : { kind: 'taken' });
  start();

  await until(() => failures().length === 1);

  expect(await uncopied()).toEqual(stuck);
  expect(taken).toHaveLength(246);
  expect(new Set(taken).size).toBe(246);
  // One more call per refused letter of a page with others of its key behind it, at most.
  expect(calls.length).toBeLessThanOrEqual(3 + 4);
  expect(failures()).toMatchObject([
    {
      error: {
        code: 'OUTBOX_DEAD_LETTER_REFUSED',
        message: expect.stringContaining(
          '4 dead letters were not accepted, the first at orders.dead: too large',
        ),
      },
      retryInMs: 3_600_000,
    },
  ]);
});

test('a whole page of refused dead letters blocks none behind it, and every round starts at the beginning', async () => {
  await fail(150);
  let open = false;
  judge = (letter) => (!open && Number(idOf(letter).slice(1)) <= 100 ? refused : { kind: 'taken' });
  start({ firstAgainMs: 50, maxAgainMs: 80 });

  await until(() => failures().length >= 3);
  expect(await uncopied()).toHaveLength(100);
  expect(
    failures()
      .map((event) => 'retryInMs' in event && event.retryInMs)
      .slice(0, 3),
  ).toEqual([50, 80, 80]);
  open = true;
  await until(async () => (await uncopied()).length === 0);
  expect(sorted(taken)).toEqual(sorted(Array.from({ length: 150 }, (_, n) => `m${n + 1}`)));
});

test('an address that accepts nothing is skipped until the next round, and others continue', async () => {
  await fail(150, 'orders', 'o');
  await fail(150, 'mails', 'm');
  judge = ({ address }) =>
    address === 'orders.dead' ? { kind: 'deferred', reason: 'no leader' } : { kind: 'taken' };
  start();

  await until(() => failures().length === 1);

  expect(taken).toHaveLength(150);
  expect(await uncopied()).toHaveLength(150);
  expect(calls.filter(([first]) => first?.startsWith('o'))).toHaveLength(1);
  expect(failures()).toMatchObject([{ error: { message: expect.stringContaining('no leader') } }]);
});

test('one consumer of a group at a time sends dead letters, so each is sent once', {
  tags: ['dead-letters-copied'],
}, async () => {
  await fail(250);
  const senders = [start({ turnMs: 20 }), start({ turnMs: 20 }), start({ turnMs: 20 })];

  await until(async () => (await uncopied()).length === 0);
  await Promise.all(senders.map((one) => one.stop()));

  expect(sorted(taken)).toEqual(sorted(Array.from({ length: 250 }, (_, n) => `m${n + 1}`)));
  expect(await made.database.query('select from outbox.letter_turn')).toEqual([]);
});

test('the lease of a dead consumer expires by itself', async () => {
  const dead = randomUUID();
  expect(await takeLetterTurn(made.database, 'g', dead, 300)).toBe(true);
  await fail(150);
  start({ turnMs: 20 });

  await until(async () => (await uncopied()).length === 0);
  expect(taken).toHaveLength(150);
});

test('a turn from before the clock was set back is over', { tags: ['dead-letters-copied'] }, async () => {
  const take = (owner: string) => takeLetterTurn(made.database, 'g', owner, 60_000);
  expect(await take(randomUUID())).toBe(true);
  expect(await take(randomUUID())).toBe(false);
  await made.database.query(`update outbox.letter_turn set ends_at = ends_at + interval '1 hour'`);

  expect(await take(randomUUID())).toBe(true);
});

test('a round reads almost nothing behind 50,000 copied messages', async () => {
  await made.database.query('analyze outbox.parked');
  await made.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at, copied_at)
     select 'g', 'old' || n, 'failed', 'orders', 'orders', 0, n, '{}', now(), now() from generate_series(1, 50000) n`,
  );
  await fail(10);
  for (const statistics of ['stale', 'fresh']) {
    if (statistics === 'fresh') await made.database.query('analyze outbox.parked');
    const { text, values } = await statementOf((sql) => readUncopied(sql, 'g', ['orders'], '0', 100));
    const nodes = await planNodes(made.database, text, values);
    expect(fullScansOf(nodes), statistics).toEqual([]);
    expect(pagesOf(nodes), statistics).toBeLessThan(60);
  }
});
