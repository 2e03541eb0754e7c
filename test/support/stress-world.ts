import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Sql } from '../../src/store/database.ts';
import { releaseMessage, sweep } from '../../src/store/release.ts';
import { openDatabase } from '../../src/store/pool.ts';
import { cancelMessage, storeMessages } from '../../src/store/write.ts';
import { defaultTimings } from '../../src/relay/timings.ts';
import type { LaneBench } from './lane-bench.ts';
import { MortalDatabase } from './mortal-database.ts';
import { type Random, seededRandom } from './random.ts';
import { type Delivery, ScriptedBroker, type Verdict } from './scripted-broker.ts';

/** What a writer knows about a message of its own. */
export interface Sent {
  readonly id: string;
  readonly key: string | null;
  readonly delayed: boolean;
  /** Moments of the one clock of the world: before the send began, and after its transaction had committed. */
  readonly beganAt: number;
  committedAt: number;
}

class RolledBack extends Error {}

/** Writers, cancelers, sweeps and two relays with crashes and frozen owners, all at once on one lane. */
export class StressWorld {
  readonly log: Delivery[] = [];
  readonly committed = new Map<string, Sent>();
  readonly rolledBack = new Set<string>();
  readonly canceled = new Set<string>();
  readonly permanent = new Set<string>();
  /** May be published more than once: a fault was played on its batch. */
  readonly faulty = new Set<string>();
  /** Sent by an owner that was frozen past its lease. */
  readonly frozen = new Set<string>();
  readonly counts = { crashes: 0, freezes: 0, takeovers: 0, drains: 0, batches: 0, releases: 0 };
  readonly #bench: LaneBench;
  readonly #random: Random;
  /** Business transactions have a pool of their own, as in a service. */
  readonly #business: Database;
  #now = 0;
  #calm = false;

  constructor(bench: LaneBench, seed: number) {
    this.#bench = bench;
    this.#random = seededRandom(seed);
    this.#business = openDatabase({ url: bench.url, connections: 8 });
  }

  /**
   * Runs every actor for a while, then lets everything come to its end without faults.
   *
   * @param least what must have happened: a slow machine gets twice the time and two minutes for it
   */
  async run(forMs: number, least: { readonly crashes: number; readonly committed: number }): Promise<void> {
    const began = performance.now();
    const enough = (): boolean =>
      this.counts.crashes >= least.crashes && this.committed.size >= least.committed;
    const loop = async (act: () => Promise<void>): Promise<void> => {
      for (let ms = 0; ms < forMs || (!enough() && ms < 2 * forMs + 120_000); ms = performance.now() - began)
        await act();
    };
    const writers = [1, 2, 3].map(() => loop(() => this.#write()));
    const cancelers = [1, 2].map(() => loop(() => this.#cancel()));
    const relays = [1, 2].map(() => loop(() => this.#relay()));
    await Promise.all([...writers, ...cancelers, ...relays, loop(() => this.#release())]);
    await this.#comeToRest();
  }

  close(): Promise<void> {
    return this.#business.close();
  }

  async #pause(mostMs: number): Promise<void> {
    await delay(this.#random.below(mostMs));
  }

  async #write(): Promise<void> {
    const sent: Sent[] = [];
    const doomed: string[] = [];
    const work = async (sql: Sql): Promise<void> => {
      for (let n = this.#random.below(3); n >= 0; n -= 1) {
        if (this.#random.chance(0.2)) {
          await sql.query('savepoint s');
          doomed.push((await this.#send(sql)).id);
          await sql.query('rollback to savepoint s');
        } else sent.push(await this.#send(sql));
        await this.#pause(15);
      }
      if (this.#random.chance(0.2)) throw new RolledBack();
    };
    const committed = await this.#commits(work);
    this.#now += 1;
    for (const message of sent) {
      message.committedAt = this.#now;
      if (committed) this.committed.set(message.id, message);
      else this.rolledBack.add(message.id);
    }
    for (const id of doomed) this.rolledBack.add(id);
  }

  async #send(sql: Sql): Promise<Sent> {
    this.#now += 1;
    const beganAt = this.#now;
    const key = this.#random.pick([null, 'a', 'b', 'c', 'd']) ?? null;
    const afterMs = this.#random.chance(0.2) ? 1 + this.#random.below(300) : undefined;
    const [stored] = await storeMessages(sql, this.#bench.topic, [
      { payload: '"m"', ...(key !== null && { key }), ...(afterMs !== undefined && { afterMs }) },
    ]);
    if (stored === undefined) throw new Error('Nothing was stored.');
    return { id: stored.id, key, delayed: afterMs !== undefined, beganAt, committedAt: 0 };
  }

  async #commits(work: (sql: Sql) => Promise<void>): Promise<boolean> {
    try {
      await this.#business.transaction(work);
      return true;
    } catch (error) {
      if (error instanceof RolledBack) return false;
      throw error;
    }
  }

  async #cancel(): Promise<void> {
    const id = this.#random.pick([...this.committed.keys()].slice(-40));
    if (id === undefined) return this.#pause(10);
    let answer: string | undefined;
    const committed = await this.#commits(async (sql) => {
      answer = await cancelMessage(sql, this.#bench.topic, { id });
      await this.#pause(20);
      if (this.#random.chance(0.3)) throw new RolledBack();
    });
    if (committed && answer === 'canceled') this.canceled.add(id);
    await this.#pause(10);
  }

  /** Sweeps, and the own workflows of messages that ask for a release at any time. */
  async #release(): Promise<void> {
    this.counts.releases += await sweep(
      this.#bench.database,
      [this.#bench.topic],
      1 + this.#random.below(20),
    );
    const id = this.#random.pick([...this.committed.keys()].slice(-20));
    if (id !== undefined) await releaseMessage(this.#bench.database, id);
    await this.#pause(10);
  }

  /** One run of a drain: it ends quiet, stopped, dead or frozen. */
  async #relay(): Promise<void> {
    const database = new MortalDatabase(this.#bench.database);
    const broker = new ScriptedBroker(this.log);
    let owner: unknown;
    database.onStatement = (text, values) => {
      if (text.includes('before as materialized')) owner = values[2];
    };
    broker.judge = (message) => this.#judge(message.id);
    if (this.#random.chance(0.3)) database.dieAfter(this.#random.below(30));
    broker.before = () => this.#maybeFreeze(database, broker, () => owner);
    this.counts.drains += 1;
    await this.#drain(database, broker).catch(async (error: unknown) => {
      if (!database.dead) throw error;
      this.counts.crashes += 1;
      for (const id of broker.batches.at(-1) ?? []) this.faulty.add(id);
      await this.#pause(20);
      await this.#expire(owner);
    });
    this.counts.batches += broker.batches.length;
    await this.#pause(10);
  }

  async #drain(database: Database, broker: ScriptedBroker): Promise<void> {
    await this.#bench.drain({
      database,
      route: { name: this.#bench.topic, rules: this.#bench.rules, transport: broker },
      timings: { ...defaultTimings, lingerMs: this.#random.below(40), checkMs: 5, probeMs: 5 },
      batch: { messages: 1 + this.#random.below(8) },
      signal: AbortSignal.timeout(20 + this.#random.below(200)),
      report: (event) => {
        if (event.type === 'lane-acquired' && event.lapsed) this.counts.takeovers += 1;
      },
    });
  }

  #judge(id: string): Verdict {
    if (this.#calm || this.#random.chance(0.85)) return 'store';
    const verdicts = [
      'reject',
      'reject',
      'permanent',
      'store-silently',
      'lose',
      'hold',
      'hold-on-wire',
    ] as const;
    const verdict = this.#random.pick(verdicts) ?? 'store';
    if (verdict === 'permanent') this.permanent.add(id);
    if (verdict === 'store-silently' || verdict === 'hold-on-wire') this.faulty.add(id);
    return verdict;
  }

  /** Stops a process in mid-send, gives its lane away, and lets it send on. */
  async #maybeFreeze(database: MortalDatabase, broker: ScriptedBroker, owner: () => unknown): Promise<void> {
    if (this.#calm || !this.#random.chance(0.03)) return;
    this.counts.freezes += 1;
    for (const id of broker.batches.at(-1) ?? []) {
      this.faulty.add(id);
      this.frozen.add(id);
    }
    database.freeze();
    await this.#expire(owner());
    await this.#pause(200);
    database.thaw();
  }

  async #expire(owner: unknown): Promise<void> {
    await this.#bench.database.query(
      `update outbox.lane set alive_until = clock_timestamp() - interval '1 ms' where owner = $1`,
      [owner],
    );
  }

  async #comeToRest(): Promise<void> {
    this.#calm = true;
    const endsAt = performance.now() + 90_000;
    for (;;) {
      await sweep(this.#bench.database, [this.#bench.topic], 1_000);
      await this.#drain(this.#bench.database, new ScriptedBroker(this.log));
      const [open] = await this.#bench.database.query<{ count: number }>(
        `select count(*)::integer as count from outbox.message_view where state in ('waiting', 'ready', 'held', 'retrying')`,
      );
      if (open?.count === 0) return;
      if (performance.now() > endsAt) throw new Error(`${open?.count} messages never came to an end.`);
    }
  }
}
