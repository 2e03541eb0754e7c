import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { policyOf } from '../src/app/relay/topic-policy.ts';
import { topic } from '../src/core/topic.ts';
import { applyMigrations } from '../src/operations/schema.ts';
import type { LaneProgress } from '../src/relay/lane-progress.ts';
import { planSettlement } from '../src/relay/plan-settlement.ts';
import { defaultBatchLimits } from '../src/relay/timings.ts';
import { openDatabase, type ResizableDatabase } from '../src/store/database/pool.ts';
import { claim } from '../src/store/lane/claim.ts';
import { acquireLane } from '../src/store/lane/lease.ts';
import { settle } from '../src/store/lane/settle.ts';
import { upsertTopics } from '../src/store/lane/topics.ts';
import { makePartitions } from '../src/store/retention/history.ts';
import type { Stage } from './workload.ts';

const perTransaction = 500_000;
/** Less than any row has with its header. */
const leastBytesPerVersion = 50;
const rules = topic('size', z.unknown()).rules;

/** What lies before and behind the first message. */
export interface Size {
  /** Also a part of the database's name. */
  readonly name: string;
  /** Ready messages. */
  readonly backlog: number;
  /** Leaves that hold them, all of which a claim reads. */
  readonly leaves: number;
  /** Published ones that the archive has not moved yet. */
  readonly log: number;
  /** Archived ones. */
  readonly history: number;
}

async function insert(database: ResizableDatabase, rows: number, into: 'log' | 'history'): Promise<void> {
  const values = `outbox.uuid_v7() as id, 'size' as topic, 0 as lane, 'k' || g % 1000 as key,
    '{"text":"' || repeat('x', 236) || '"}' as payload from generate_series(1, $1::integer) g`;
  const leaf = await currentLeaf(database);
  for (let done = 0; done < rows; done += perTransaction) {
    const count = Math.min(perTransaction, rows - done);
    await database.query(
      into === 'history'
        ? `insert into outbox.message_history (id, topic, lane, key, payload, workflow_id, position, content_type, state, attempts,
             sends, maybe_published, created_at, updated_at, archived_at)
           select v.*, outbox.lane_workflow_id('size', 0), 0, 'application/json', 'published', 0, 1, false, now(), now(), now()
           from (select ${values}) v`
        : `insert into outbox.log_${leaf} (id, topic, lane, key, payload) select ${values}`,
      [count],
    );
  }
}

async function currentLeaf(database: ResizableDatabase): Promise<string> {
  const [leaf] = await database.query<{ n: string }>('select n from outbox.leaf where closed_at is null');
  if (leaf === undefined) throw new Error('There is no current leaf.');
  return leaf.n;
}

/** Closes the current leaf, which stays among those that claims read until the lane has passed it. */
async function openLeaf(database: ResizableDatabase): Promise<void> {
  const n = await currentLeaf(database);
  await database.query('select outbox.create_leaf($1::bigint + 1)', [n]);
  await database.query('select outbox.next_leaf($1)', [n]);
}

/** One size: its database, and its lane, which is drained from its first ready message again and again. */
export class SizeCase {
  readonly size: Size;
  readonly database: ResizableDatabase;
  readonly #owner = randomUUID();
  /** The store remembers the ctid of a lane's row by this object. */
  readonly #lane = { topic: 'size', lane: 0 };
  #first: LaneProgress = { cursor: '0', snapshot: null };
  #at: LaneProgress = this.#first;
  #unpin: () => Promise<void> = () => Promise.resolve();

  private constructor(size: Size, database: ResizableDatabase) {
    this.size = size;
    this.database = database;
  }

  /** @param server the database that has the others made */
  static async create(server: Pick<Stage, 'database' | 'databaseUrl'>, size: Size): Promise<SizeCase> {
    const url = new URL(server.databaseUrl);
    url.pathname = `/size_${size.name}`;
    await server.database.query(`create database size_${size.name}`);
    // The wait of a commit for the disk is the same at any size, and would hide what is not.
    await server.database.query(`alter database size_${size.name} set synchronous_commit = off`);
    await applyMigrations({ url: url.href });
    const made = new SizeCase(size, openDatabase({ url: url.href, connections: 1 }));
    await made.#fill();
    return made;
  }

  async #fill(): Promise<void> {
    const { database, size } = this;
    await upsertTopics(database, [policyOf(topic('size', z.unknown()), 'none')]);
    await makePartitions(database);
    await insert(database, size.history, 'history');
    await insert(database, size.log, 'log');
    const [passed] = await database.query<LaneProgress>(
      `select coalesce(max(position), 0)::text as cursor, pg_current_snapshot()::text as snapshot from outbox.message`,
    );
    for (let leaf = 1; leaf <= size.leaves; leaf += 1) {
      if (leaf > 1) await openLeaf(database);
      await insert(database, size.backlog / size.leaves, 'log');
    }
    await database.query('vacuum analyze');
    await acquireLane(database, this.#lane, this.#owner);
    await database.query(`update outbox.lane set alive_until = now() + interval '1 day'`);
    if (passed !== undefined) this.#first = passed;
    this.#at = this.#first;
  }

  /** Claims and settles so many messages. @returns the milliseconds of both */
  async batch(limit: number): Promise<number> {
    const startedAt = performance.now();
    const claimed = await claim(this.database, this.#lane, {
      owner: this.#owner,
      ...this.#at,
      limit,
      bytes: defaultBatchLimits.bytes,
      failedBlocks: false,
      suspect: null,
    });
    const claimedAt = performance.now();
    const outcomes = claimed.messages.map((_, n) => ({
      kind: 'acknowledged' as const,
      partition: n % 4,
      offset: String(n),
    }));
    const plan = planSettlement({
      owner: this.#owner,
      batchId: randomUUID(),
      progress: this.#at,
      claim: claimed,
      outcomes,
      rules,
    });
    if (plan === undefined || claimed.messages.length < limit) {
      throw new Error(`${this.size.name}: a claim answered ${claimed.messages.length} messages.`);
    }
    const plannedAt = performance.now();
    if (!(await settle(this.database, this.#lane, plan))) throw new Error('The lane has another owner.');
    const settledAt = performance.now();
    const done = Number(plan.cursor) - Number(this.#first.cursor);
    this.#at = done + defaultBatchLimits.messages > this.size.backlog ? this.#first : plan;
    return claimedAt - startedAt + settledAt - plannedAt;
  }

  /** What batches leave in the lane while a reader needs all versions of its row: the reader ends with the case. */
  async pin(batches: number): Promise<void> {
    this.database.resize(2);
    let end: () => void = () => undefined;
    const pinned = new Promise<void>((resolve) => (end = resolve));
    let began: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (began = resolve));
    const reader = this.database.transaction(async (sql) => {
      await sql.query('set local idle_in_transaction_session_timeout = 0');
      await sql.query('set transaction isolation level repeatable read');
      await sql.query('select count(*) from outbox.lane');
      began();
      await pinned;
    });
    this.#unpin = () => {
      end();
      return reader;
    };
    await begun;
    await this.database.query(
      // By ctid, as every settle: a scan would pass all dead versions at each step.
      `do $$ declare row_ctid tid; begin
         select ctid into row_ctid from outbox.lane;
         for n in 1..${batches} loop
           update outbox.lane set alive_until = alive_until + interval '1 us' where ctid = row_ctid returning ctid into row_ctid;
           commit;
         end loop;
       end $$`,
    );
    const [lane] = await this.database.query<{ bytes: number }>(
      `select pg_relation_size('outbox.lane')::float8 as bytes`,
    );
    if ((lane?.bytes ?? 0) < batches * leastBytesPerVersion) throw new Error('The reader keeps no versions.');
  }

  /** With its database. */
  async drop(server: Pick<Stage, 'database'>): Promise<void> {
    await this.#unpin();
    await this.database.close();
    await server.database.query(`drop database size_${this.size.name}`);
  }
}
