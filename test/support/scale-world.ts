import type { DueEdge } from '../../src/store/due-edge.ts';
import type { Sql } from '../../src/store/database.ts';
import { sweep } from '../../src/store/release.ts';
import { look } from '../../src/store/watch.ts';
import { type LaneBench, laneBench } from './lane-bench.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { pagesOf, planNodes, statementOf } from './query-plan.ts';

/** Rows of each kind in a world. */
export interface WorldSize {
  readonly log: number;
  readonly failed: number;
  /** Due at one instant, which has come. */
  readonly waiting: number;
  readonly parked: number;
  /** Released, sent and retried behind an old snapshot, so that nothing of it can be vacuumed. */
  readonly turnover: number;
}

export const owner = '00000000-0000-4000-8000-000000000001';
/** Held messages of one key that nothing blocks any more. */
const held = 5_000;
/** What a claim finds, in as many keys. */
const ready = 5_000;

/** One lane after months: its log, what failed, what waits, and the statistics of its first day. */
export class ScaleWorld {
  readonly bench: LaneBench;
  readonly #old: OpenTransaction;

  private constructor(bench: LaneBench, old: OpenTransaction) {
    this.bench = bench;
    this.#old = old;
  }

  static async create(size: WorldSize, edge: DueEdge): Promise<ScaleWorld> {
    const bench = await laneBench();
    const { database } = bench;
    for (const table of ['message', 'parked', 'parked_key', 'lane'])
      await database.query(`alter table outbox.${table} set (autovacuum_enabled = off)`);
    await database.query('analyze');
    await loadMessages(database, size);
    await loadParked(database, size.parked);
    const old = await bench.begin();
    await old.query('set transaction isolation level repeatable read');
    await old.query('select from outbox.lane');
    const world = new ScaleWorld(bench, old);
    await world.#turnOver(size.turnover, edge);
    await loadWork(database);
    return world;
  }

  /** Messages that became due before the others, and messages that were tried again, come and go. */
  async #turnOver(count: number, edge: DueEdge): Promise<void> {
    const { database } = this.bench;
    await store(database, count, {
      state: 'waiting',
      key: 'null',
      due: `now() - interval '2 hours' + g * interval '1 ms'`,
    });
    await store(database, count, { state: 'ready', key: `'tried'`, due: 'null' });
    await database.query(`update outbox.message set state = 'retrying' where key = 'tried'`);
    await database.query(`update outbox.message set state = 'ready' where key = 'tried'`);
    let left = count;
    while (left > 0) left -= await sweep(database, ['orders'], Math.min(left, 2_000), edge);
    await look(database, null, edge);
    await pass(database);
  }

  /** Pages that a statement touches when its connection knows it, and the milliseconds it takes. All is rolled back. */
  async cost(work: (sql: Sql) => Promise<unknown>, settings: readonly string[] = []): Promise<Cost> {
    const { text, values } = await statementOf(work);
    let cost: Cost | undefined;
    const run = async (sql: Sql): Promise<never> => {
      for (const setting of settings) await sql.query(setting);
      await planNodes(sql, text, values);
      const startedAt = performance.now();
      const pages = pagesOf(await planNodes(sql, text, values));
      cost = { pages, ms: performance.now() - startedAt };
      throw new Error('taken back');
    };
    await this.bench.database.transaction(run).catch((error: unknown) => {
      if (cost === undefined) throw error;
    });
    if (cost === undefined) throw new Error('Nothing was measured.');
    return cost;
  }

  async drop(): Promise<void> {
    await this.#old.rollback();
    await this.bench.drop();
  }
}

export interface Cost {
  readonly pages: number;
  readonly ms: number;
}

interface Rows {
  readonly state: 'ready' | 'waiting';
  /** SQL, of `g`. */
  readonly key: string;
  readonly due: string;
}

async function store(sql: Sql, count: number, { state, key, due }: Rows): Promise<void> {
  await sql.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at, workflow_due_at)
     select gen_random_uuid(), 'orders', 0, ${key}, '{}', '${state}', 'w', ${due}, ${due} from generate_series(1, $1::integer) g`,
    [count],
  );
}

/** In few large transactions, and without the indexes that are built afterwards. */
async function loadMessages(sql: Sql, { log, failed, waiting }: WorldSize): Promise<void> {
  await store(sql, log, { state: 'ready', key: `'k' || g % 1000`, due: 'null' });
  await sql.query('alter table outbox.message disable trigger user');
  await sql.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, attempts)
     select gen_random_uuid(), 'orders', 0, 'f' || g, '{}', 'failed', 'w', 8 from generate_series(1, $1::integer) g`,
    [failed],
  );
  await sql.query('alter table outbox.message enable trigger user');
  await store(sql, waiting, {
    state: 'waiting',
    key: 'null',
    due: `date_trunc('hour', now()) - interval '1 hour'`,
  });
  await pass(sql);
}

/** The lane has published all that is ready. */
async function pass(sql: Sql): Promise<void> {
  await sql.query(
    `update outbox.lane set cursor = (select last_value from outbox.message_position), snapshot = pg_current_snapshot(),
       owner = $1, alive_until = clock_timestamp() + interval '1 hour', incarnation = outbox.incarnation()`,
    [owner],
  );
}

async function loadParked(sql: Sql, count: number): Promise<void> {
  await sql.query(
    `with keys as (
       insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at, told_at)
       select 'shop', 'orders', 'k' || g, 'w', now() + interval '1 hour', now() from generate_series(1, $1::integer) g
       returning id, key
     )
     insert into outbox.parked (consumer_group, message_id, key_id, topic, key, address, partition, "offset", wire, sent_at)
     select 'shop', id::text, id, 'orders', key, 'orders', 0, '0', '{}', now() from keys`,
    [count],
  );
  await sql.query(
    `insert into outbox.processed (consumer_group, message_id, topic) select 'shop', gen_random_uuid()::text, 'orders'
     from generate_series(1, $1::integer)`,
    [count],
  );
}

/** What the statements find, the same in every world: held messages of one key, and ready ones behind the cursor. */
async function loadWork(sql: Sql): Promise<void> {
  await store(sql, held, { state: 'ready', key: `'hot'`, due: 'null' });
  await sql.query(`update outbox.message set state = 'held' where key = 'hot'`);
  await pass(sql);
  await store(sql, ready, { state: 'ready', key: `'r' || g`, due: 'null' });
}
