import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogReader, LogRecord } from '../../src/core/delivery-log.ts';
import type { Invariant, InvariantResult, VerifyReport } from '../../src/operations/verify/report.ts';
import { verify, type VerifyOptions } from '../../src/operations/verify/verify.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { type LaneBench, laneBench } from './lane-bench.ts';

/** A lane with its broker, and the broker's log as an auditor reads it: tests falsify both. */
export class VerifyBench {
  readonly bench: LaneBench;
  readonly #source: string;
  /** What the broker holds. */
  log: LogRecord[] = [];
  /** True: what was before the first record has been deleted. */
  truncated = false;
  /** For how long it says nothing when it is asked for. */
  silentMs = 0;

  constructor(bench: LaneBench, source: string) {
    this.bench = bench;
    this.#source = source;
  }

  static async create(): Promise<VerifyBench> {
    const bench = await laneBench({ retry: ['1h'] });
    return new VerifyBench(bench, `/outbox/${await readInstallation(bench.database)}`);
  }

  /** Delivers what is there, into the log. */
  async deliver(): Promise<void> {
    const { broker, topic } = this.bench;
    const from = broker.log.length;
    await this.bench.drain({ source: this.#source });
    for (const { id, key, payload, headers, storedAt } of broker.log.slice(from)) {
      this.log.push({
        address: topic,
        partition: 0,
        offset: String(this.log.length),
        at: new Date(storedAt),
        id,
        key,
        source: headers['ce_source'] ?? null,
        type: headers['ce_type'] ?? null,
        payloadHash: hashOf(payload),
      });
    }
  }

  /** Makes the log run backwards. */
  reverse(): void {
    this.log = this.log.toReversed().map((record, index) => ({ ...record, offset: String(index) }));
  }

  /** Appends a copy of the first record, with changes. */
  repeat(changes: Partial<LogRecord> = {}): void {
    const [record] = this.log;
    if (record === undefined) throw new Error('There is no record.');
    this.log.push({ ...record, offset: String(this.log.length), ...changes });
  }

  /** Makes a message older than it is. */
  async age(label: string, by: string): Promise<void> {
    await this.bench.database.query(
      'update outbox.message set created_at = created_at - $2::interval where id = $1',
      [this.bench.idOf(label), by],
    );
  }

  check(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { topic, database } = this.bench;
    return verify(database, [{ reader: this.#reader(), topics: [{ topic, address: topic }] }], options);
  }

  /** Verifies, expects that only the one invariant is broken, and answers its result. */
  async broken(invariant: Invariant, options: VerifyOptions = {}): Promise<InvariantResult> {
    const { ok, invariants } = await this.check(options);
    const results = invariants.filter((result) => !result.ok);
    const [result] = results;
    if (ok || result?.invariant !== invariant || results.length > 1)
      throw new Error(`Broken: ${JSON.stringify(results)}.`);
    return result;
  }

  drop(): Promise<void> {
    return this.bench.drop();
  }

  #reader(): LogReader {
    const { log, truncated } = this;
    return {
      open: async (addresses) => {
        await delay(this.silentMs);
        return {
          ranges: addresses.map((address) => ({
            address,
            partition: 0,
            from: '0',
            to: String(log.length),
            truncated,
          })),
          async *records() {
            for (let start = 0; start < log.length; start += 2) yield log.slice(start, start + 2);
          },
        };
      },
    };
  }
}

export function hashOf(payload: string): string {
  return createHash('sha256').update(payload).digest('hex');
}
