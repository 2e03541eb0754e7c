import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type FedConsumer, type FedMessage, type FedSettings, feed, startFed } from './fed-consumer.ts';
import { openPrisma } from './prisma.ts';
import type { PrismaClient } from '../../src/demo/generated/client.ts';
import { type MemorySource, memorySource } from '../../src/sources/memory/memory-source.ts';

/** A row of `outbox.parked`. */
export interface KeptRow {
  readonly id: string;
  readonly n: number | null;
  readonly key: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly error: string | null;
  readonly attempts: number;
}

/**
 * An inbox on a real database and a real Temporal, fed by a broker in memory: what arrives, and how often, is up to the
 * test, and no group has to time out.
 */
export class MemoryInbox {
  readonly group = `group-${randomUUID()}`;
  readonly prisma: PrismaClient;
  readonly source: MemorySource;
  readonly #made: TestDatabase;
  readonly #running: FedConsumer[] = [];

  constructor(made: TestDatabase, partitions: number) {
    this.#made = made;
    this.prisma = openPrisma(made.url);
    this.source = memorySource({ partitions });
  }

  static async create({ partitions = 1 } = {}): Promise<MemoryInbox> {
    const made = await createTestDatabase();
    await made.database.query('create table effect (seq bigserial, n int, consumer text, at timestamptz)');
    await made.database.query('create table attempt_seen (seq bigserial, n int, attempt int, consumer text)');
    return new MemoryInbox(made, partitions);
  }

  get url(): string {
    return this.#made.url;
  }

  get database(): TestDatabase['database'] {
    return this.#made.database;
  }

  feed(...messages: readonly FedMessage[]): void {
    feed(this.source, ...messages);
  }

  async consume(settings: FedSettings = {}): Promise<FedConsumer> {
    const running = await startFed(this.prisma, this.source, {
      group: this.group,
      temporalAddress: inject('temporalAddress'),
      ...settings,
    });
    this.#running.push(running);
    return running;
  }

  /** Effects in the order in which they were committed, nearly: by the order of their rows. */
  async effects(): Promise<readonly number[]> {
    const rows = await this.#made.database.query<{ n: number }>('select n from effect order by seq');
    return rows.map(({ n }) => n);
  }

  kept(): Promise<readonly KeptRow[]> {
    return this.#made.database.query<KeptRow>(
      `select message_id as id, state, reason, last_error as error, attempts, key,
         substring(convert_from(body, 'UTF8') from '"n":(\\d+)')::int as n
       from outbox.parked where consumer_group = $1 order by position`,
      [this.group],
    );
  }

  async parkedKeys(): Promise<number> {
    const [row] = await this.#made.database.query<{ count: number }>(
      'select count(*)::integer as count from outbox.parked_key where consumer_group = $1',
      [this.group],
    );
    return row?.count ?? 0;
  }

  async end(): Promise<void> {
    await Promise.all(this.#running.map((one) => one.stop()));
    await this.prisma.$disconnect();
    await this.#made.drop();
  }
}
