import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { OutboxError, type OutboxErrorCode } from '../../../src/core/errors.ts';
import { topic } from '../../../src/core/topic.ts';
import type { State } from '../../../src/core/transitions.ts';
import { Wake } from '../../../src/core/wake.ts';
import { changeMessages } from '../../../src/operations/change.ts';
import { editFailed } from '../../../src/operations/edit.ts';
import { withdrawMessages } from '../../../src/operations/messages/withdraw.ts';
import { drainLane } from '../../../src/relay/drain-lane.ts';
import { defaultBatchLimits, defaultTimings } from '../../../src/relay/timings.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { upsertTopics } from '../../../src/store/lane/topics.ts';
import { discardChange, retryChange } from '../../../src/store/message/change.ts';
import { expireBlocked } from '../../../src/store/message/expire.ts';
import { sweep } from '../../../src/store/message/release.ts';
import { cancelMessage, rescheduleMessage, storeMessages } from '../../../src/store/message/write.ts';
import { MortalDatabase } from '../faults/mortal-database.ts';
import { createTestDatabase, type TestDatabase } from '../fixtures/database.ts';
import { turnLeaf } from '../fixtures/leaves.ts';
import { ScriptedBroker, type Verdict } from '../kafka/scripted-broker.ts';
import { retryMinutes } from './lane-model.ts';

const minuteMs = 60_000;
/** What the model refuses, too. */
const refusals: ReadonlySet<OutboxErrorCode> = new Set(['OUTBOX_REF_TAKEN', 'OUTBOX_EXPIRY_BEFORE_DUE']);
const operator = { actor: 'the model', reason: 'as told' };

/** A message as the database shows it. */
export interface SeenMessage {
  readonly label: string;
  readonly state: State;
  readonly attempts: number;
  readonly maybePublished: boolean;
}

/** A database whose clock a test moves; it has one lane per run of the model. */
export class ModelDatabase {
  readonly #made: TestDatabase;
  #runs = 0;

  private constructor(made: TestDatabase) {
    this.#made = made;
  }

  static async create(): Promise<ModelDatabase> {
    const made = await createTestDatabase();
    await made.database.query('create table skipped (by interval not null)');
    await made.database.query(`insert into skipped values ('0')`);
    await made.database.query(
      `create or replace function outbox.clock() returns timestamptz language sql stable
       as $$ select now() + (select by from public.skipped) $$`,
    );
    return new ModelDatabase(made);
  }

  /** A fresh topic of one lane, on a clock that has not been moved. `batch`: the most messages of a batch. */
  async lane(exhausted: 'release-key' | 'block-key', batch: number): Promise<LaneWorld> {
    const { database } = this.#made;
    this.#runs += 1;
    await database.query(`update skipped set by = '0'`);
    const made = topic(`run-${this.#runs}`, z.unknown(), {
      exhausted,
      retry: retryMinutes.map((minutes) => minutes * minuteMs),
    });
    await upsertTopics(database, [policyOf(made, 'scripted')]);
    return new LaneWorld(database, made, batch);
  }

  drop(): Promise<void> {
    return this.#made.drop();
  }
}

/** The real lane of one run, moved step by step. */
export class LaneWorld {
  readonly database: Database;
  readonly #topic: ReturnType<typeof topic>;
  readonly #batch: number;
  readonly #broker = new ScriptedBroker();
  readonly #ids = new Map<string, string>();

  /** @param batch the most messages of a batch */
  constructor(database: Database, made: ReturnType<typeof topic>, batch: number) {
    this.database = database;
    this.#topic = made;
    this.#batch = batch;
  }

  get topic(): string {
    return this.#topic.name;
  }

  /** Labels in the order in which the broker stored them. */
  get log(): readonly string[] {
    return this.#broker.labels;
  }

  idOf(label: string): string {
    return this.#ids.get(label) ?? '';
  }

  /** @returns false if the ref is taken, or if it would expire before it is due */
  async send(
    label: string,
    key: string | null,
    ref: string | null,
    afterMinutes: number | undefined,
    expiresMinutes: number | undefined,
  ): Promise<boolean> {
    const [stored] = await storeMessages(this.database, this.topic, [
      {
        payload: JSON.stringify(label),
        ...(key !== null && { key }),
        ...(ref !== null && { ref }),
        ...(afterMinutes !== undefined && { afterMs: afterMinutes * minuteMs }),
        ...(expiresMinutes !== undefined && { expiresAfterMs: expiresMinutes * minuteMs }),
      },
    ]);
    if (stored === undefined) throw new Error('Nothing was answered.');
    if (stored.refusal === null) this.#ids.set(label, stored.id);
    else if (!refusals.has(stored.refusal.code)) throw new Error(stored.refusal.message);
    return stored.refusal === null;
  }

  cancel(handle: { readonly id: string } | { readonly ref: string }): Promise<string> {
    return cancelMessage(this.database, this.topic, handle);
  }

  reschedule(label: string, afterMinutes: number): Promise<string> {
    return rescheduleMessage(
      this.database,
      this.topic,
      { id: this.idOf(label) },
      { afterMs: afterMinutes * minuteMs },
    );
  }

  async withdraw(label: string): Promise<string | undefined> {
    const [answer] = await withdrawMessages(this.database, { ids: [this.idOf(label)] }, operator);
    return answer?.result;
  }

  /** @returns whether anything changed */
  async retry(label: string): Promise<boolean> {
    const target = { ids: [this.idOf(label)] };
    const [answer] = await changeMessages(this.database, target, retryChange, operator);
    return answer?.result === 'retried';
  }

  /** @returns whether anything changed */
  async discard(label: string): Promise<boolean> {
    const target = { ids: [this.idOf(label)] };
    const [answer] = await changeMessages(this.database, target, discardChange, operator);
    return answer?.result === 'discarded';
  }

  /** Replaces a message by a copy with another label. @returns false if it was not failed */
  async edit(label: string, copy: string): Promise<boolean> {
    try {
      const ask = { ...operator, payload: copy };
      const { id } = await editFailed(this.database, this.idOf(label), ask, () => Promise.resolve());
      this.#ids.set(copy, id);
      return true;
    } catch (error) {
      if (error instanceof OutboxError && /_CONFLICT$|_BUSY$/.test(error.code)) return false;
      throw error;
    }
  }

  async advance(minutes: number): Promise<void> {
    await this.database.query(`update skipped set by = by + $1 * interval '1 minute'`, [minutes]);
  }

  /** Closes the current leaf of the log, and takes all as far as they can go. */
  async turnLeaf(): Promise<void> {
    await turnLeaf(this.database);
  }

  async sweep(): Promise<void> {
    await sweep(this.database, [this.topic], 1_000);
  }

  async expire(): Promise<void> {
    await expireBlocked(this.database, 1_000);
  }

  /** Drains until nothing is left, or dies after the broker has answered its first batch. */
  async drain(verdicts: readonly Verdict[], crash: boolean): Promise<void> {
    const process = new MortalDatabase(this.database);
    const queue = [...verdicts];
    this.#broker.judge = () => queue.shift() ?? 'store';
    this.#broker.after = crash ? () => process.kill() : () => undefined;
    const drained = drainLane({
      database: process,
      lane: { topic: this.topic, lane: 0 },
      route: { name: this.topic, rules: this.#topic.rules, transport: this.#broker },
      source: '/outbox/model',
      timings: { ...defaultTimings, laneIdleTimeoutMs: 0, probeIntervalMs: 1 },
      limits: { ...defaultBatchLimits, messages: this.#batch },
      wake: new Wake(),
      report: () => undefined,
      signal: new AbortController().signal,
      progress: () => undefined,
    });
    await drained.catch((error: unknown) => {
      if (!process.dead) throw error;
    });
    if (process.dead)
      await this.database.query(
        `update outbox.lane set alive_until = clock_timestamp() - interval '1 ms' where topic = $1 and owner is not null`,
        [this.topic],
      );
  }

  async messages(): Promise<readonly SeenMessage[]> {
    return this.database.query<SeenMessage>(
      `select payload::jsonb #>> '{}' as label, state::text, attempts, maybe_published as "maybePublished"
       from outbox.message_view where topic = $1 order by created_at, position, id`,
      [this.topic],
    );
  }

  /** Deletes everything that would affect the next run. */
  async clear(): Promise<void> {
    await this.database.query('delete from outbox.message where topic = $1', [this.topic]);
  }
}
