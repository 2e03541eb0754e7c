import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { policyOf } from '../src/config/topic-policy.ts';
import { resolveRetention } from '../src/core/retention.ts';
import { topic } from '../src/core/topic.ts';
import { startPostgres } from '../src/local/index.ts';
import { applyMigrations } from '../src/operations/schema.ts';
import type { Database } from '../src/store/database/database.ts';
import { openDatabase } from '../src/store/database/pool.ts';
import { claim } from '../src/store/lane/claim.ts';
import { acquireLane } from '../src/store/lane/lease.ts';
import { upsertTopics } from '../src/store/lane/topics.ts';
import { storeMessages } from '../src/store/message/write.ts';
import { applyRetention } from '../src/store/retention/retention.ts';

// Cost of a claim, a send and a page of the archive with a log of any size. Run by hand:
// node dist/bench/claim-at-size.js --rows 10000000

const perTransaction = 500_000;
const runs = 200;
const name = `size-${randomUUID().slice(0, 8)}`;
const lane = { topic: name, lane: 0 };

/** Progress goes to standard error, so that the last line of standard output is the result. */
function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Messages that their lane passed two days ago. */
async function fillLog(database: Database, rows: number): Promise<void> {
  for (let done = 0; done < rows; done += perTransaction) {
    await database.query(
      `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, created_at, updated_at)
       select outbox.uuid_v7(), $1, 0, 'k' || g % 1000, repeat('x', 250), 'ready', 'w', now() - interval '2 days', now() - interval '2 days'
       from generate_series(1, $2::integer) g`,
      [name, Math.min(perTransaction, rows - done)],
    );
    tell(`${Math.min(done + perTransaction, rows)} messages in the log`);
  }
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message where topic = $1), snapshot = pg_current_snapshot()
     where topic = $1`,
    [name],
  );
  await database.query('analyze outbox.message');
}

/** The median duration of many runs, in milliseconds. */
async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < runs; n += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return Number((times.toSorted((a, b) => a - b)[runs / 2] ?? Number.NaN).toFixed(3));
}

async function measureClaim(database: Database): Promise<number> {
  const owner = randomUUID();
  await acquireLane(database, lane, owner);
  const [row] = await database.query<{ cursor: string; snapshot: string | null }>(
    `update outbox.lane set alive_until = now() + interval '1 hour' where topic = $1 returning cursor, snapshot::text`,
    [name],
  );
  if (row === undefined) throw new Error('The lane has no row.');
  const limits = { limit: 2_000, bytes: 16_777_216, failedBlocks: false, suspect: null };
  const time = await median(() => claim(database, lane, { ...row, owner, ...limits }));
  await database.query('update outbox.lane set owner = null where topic = $1', [name]);
  return time;
}

async function measureArchive(database: Database): Promise<{ archived: number; perSecond: number }> {
  const startedAt = performance.now();
  const { archived } = await applyRetention({
    database,
    rules: resolveRetention(),
    signal: new AbortController().signal,
    progress: () => undefined,
    withinMs: 20_000,
  });
  return { archived, perSecond: Math.round((archived * 1_000) / (performance.now() - startedAt)) };
}

const { values: flags } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const server = await startPostgres({ env: process.env, progress: tell });
const database = openDatabase({ url: server.url, connections: 1 });
try {
  await applyMigrations(server);
  await upsertTopics(database, [policyOf(topic(name, z.unknown()), 'none')]);
  const emptyClaimMs = await measureClaim(database);
  await fillLog(database, Number(flags.rows));
  const claimMs = await measureClaim(database);
  const sendMs = await median(() => storeMessages(database, name, [{ id: randomUUID(), payload: '{}' }]));
  const archive = await measureArchive(database);
  const claimAfterArchiveMs = await measureClaim(database);
  const figures = { rows: Number(flags.rows), emptyClaimMs, claimMs, sendMs, archive, claimAfterArchiveMs };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  await database.close();
  await server.stop();
}
