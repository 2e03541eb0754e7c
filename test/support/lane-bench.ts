import { z } from 'zod';
import { policyOf } from '../../src/config/topic-policy.ts';
import type { State } from '../../src/core/transitions.ts';
import { topic, type TopicOptions } from '../../src/core/topic.ts';
import { drainLane, type DrainAnswer, type DrainInput } from '../../src/relay/drain.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import { type BatchLimits, defaultBatchLimits, defaultTimings } from '../../src/relay/timings.ts';
import { Wake } from '../../src/relay/wake.ts';
import type { Database, Sql } from '../../src/store/database.ts';
import { releaseMessage, type ReleaseAnswer } from '../../src/store/release.ts';
import { announceTopics } from '../../src/operations/announce.ts';
import { cancelMessage, type NewMessage, storeMessages } from '../../src/store/write.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openTransaction, type OpenTransaction } from './open-transaction.ts';
import { ScriptedBroker } from './scripted-broker.ts';

/** A message's row, as tests look at it. */
export interface Row {
  readonly id: string;
  /** The state that people see: passed ready rows are published. */
  readonly state: State;
  /** The state that is stored. */
  readonly stored: State;
  readonly position: string;
  readonly attempts: number;
  readonly maybePublished: boolean;
  readonly offset: string | null;
}

export interface LaneRow {
  readonly cursor: string;
  readonly snapshot: string | null;
  readonly suspect: string | null;
  readonly owner: string | null;
  readonly live: boolean;
  readonly hold: { readonly scope: string; readonly reason: string } | null;
}

/** One lane of one topic on a real database with a scripted broker: a test moves every part by hand. */
export class LaneBench {
  readonly topic = 'orders';
  readonly lane = { topic: 'orders', lane: 0 };
  readonly broker = new ScriptedBroker();
  readonly events: RelayEvent[] = [];
  readonly rules: ReturnType<typeof topic>['rules'];
  readonly #testDatabase: TestDatabase;
  readonly #ids = new Map<string, string>();

  constructor(testDatabase: TestDatabase, rules: ReturnType<typeof topic>['rules']) {
    this.#testDatabase = testDatabase;
    this.rules = rules;
  }

  get database(): Database {
    return this.#testDatabase.database;
  }

  get url(): string {
    return this.#testDatabase.url;
  }

  begin(): Promise<OpenTransaction> {
    return openTransaction(this.#testDatabase.url);
  }

  /** Sends one message whose payload is its label. */
  async send(
    label: string,
    options: Omit<NewMessage, 'payload'> = {},
    sql: Sql = this.database,
  ): Promise<string> {
    const [stored] = await storeMessages(sql, this.topic, [{ ...options, payload: JSON.stringify(label) }]);
    if (stored === undefined || stored.refusal !== null) throw new Error(`"${label}" was not stored.`);
    this.#ids.set(label, stored.id);
    return stored.id;
  }

  /** Gives a message that was stored elsewhere its label. */
  know(label: string, id: string): void {
    this.#ids.set(label, id);
  }

  idOf(label: string): string {
    const id = this.#ids.get(label);
    if (id === undefined) throw new Error(`"${label}" was never sent.`);
    return id;
  }

  cancel(label: string, sql: Sql = this.database): Promise<'canceled' | 'too-late' | 'unknown'> {
    return cancelMessage(sql, this.topic, { id: this.idOf(label) });
  }

  /** Makes a waiting or retrying message due now, and releases it. */
  async release(label: string): Promise<ReleaseAnswer> {
    const id = this.idOf(label);
    await this.database.query(`update outbox.message set due_at = outbox.clock() where id = $1`, [id]);
    return releaseMessage(this.database, id);
  }

  /** Drains the lane as a new process does, until nothing is left. */
  drain(
    overrides: Partial<DrainInput> & { readonly batch?: Partial<BatchLimits> } = {},
  ): Promise<DrainAnswer> {
    const { batch, ...input } = overrides;
    return drainLane({
      database: this.database,
      lane: this.lane,
      route: { name: this.topic, rules: this.rules, transport: this.broker },
      source: '/outbox/test',
      timings: { ...defaultTimings, lingerMs: 0, probeMs: 20 },
      limits: { ...defaultBatchLimits, ...batch },
      wake: new Wake(),
      report: (event) => this.events.push(event),
      signal: new AbortController().signal,
      progress: () => undefined,
      ...input,
    });
  }

  async row(label: string): Promise<Row> {
    const [row] = await this.database.query<Row>(
      `select v.id, v.state::text, m.state::text as stored, v.position, v.attempts, v.maybe_published as "maybePublished", v."offset"
       from outbox.message_view v join outbox.message m on m.id = v.id where v.id = $1`,
      [this.idOf(label)],
    );
    if (row === undefined) throw new Error(`"${label}" has no row.`);
    return row;
  }

  /** The visible states of the labels, in their order. */
  states(...labels: readonly string[]): Promise<readonly State[]> {
    return Promise.all(labels.map(async (label) => (await this.row(label)).state));
  }

  async laneRow(): Promise<LaneRow> {
    const [row] = await this.database.query<LaneRow>(
      `select cursor, snapshot::text, suspect::text, owner, coalesce(alive_until > clock_timestamp(), false) as live, hold
       from outbox.lane where topic = $1 and n = 0`,
      [this.topic],
    );
    if (row === undefined) throw new Error('The lane has no row.');
    return row;
  }

  /** Lets the lease of whoever owns the lane run out. */
  async lapse(): Promise<void> {
    await this.database.query(
      `update outbox.lane set alive_until = clock_timestamp() - interval '1 ms' where owner is not null`,
    );
  }

  drop(): Promise<void> {
    return this.#testDatabase.drop();
  }
}

/** A fresh database with one topic of one lane. */
export async function laneBench(options: TopicOptions = {}): Promise<LaneBench> {
  const testDatabase = await createTestDatabase();
  const orders = topic('orders', z.unknown(), options);
  await announceTopics(testDatabase.database, [policyOf(orders, 'scripted')], {});
  return new LaneBench(testDatabase, orders.rules);
}
