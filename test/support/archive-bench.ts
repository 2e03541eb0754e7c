import type { TopicOptions } from '../../src/core/topic.ts';
import { resolveRetention, type RetentionRules } from '../../src/core/retention.ts';
import { applyRetention, type RetentionInput, type RetentionOutcome } from '../../src/store/retention.ts';
import type { Database } from '../../src/store/database.ts';
import { type LaneBench, laneBench } from './lane-bench.ts';

/** A lane whose past a test makes, and a retention that it runs by hand. */
export interface ArchiveBench {
  readonly bench: LaneBench;
  /** Lets everything that is there have happened so much earlier. */
  age(interval: string): Promise<void>;
  /** Runs one round. */
  archive(rules?: Partial<RetentionRules>, input?: Partial<RetentionInput>): Promise<RetentionOutcome>;
  /** Where the labelled messages are, and as what. */
  whereabouts(...labels: readonly string[]): Promise<readonly string[]>;
}

export async function archiveBench(options: TopicOptions = {}): Promise<ArchiveBench> {
  const bench = await laneBench(options);
  const { database } = bench;
  return {
    bench,
    age: (interval) => age(database, interval),
    archive: (rules = {}, input = {}) =>
      applyRetention({
        database,
        rules: { ...resolveRetention(), ...rules },
        signal: new AbortController().signal,
        progress: () => undefined,
        ...input,
      }),
    whereabouts: async (...labels) => {
      const rows = await database.query<{ id: string; where: string }>(
        `select id, case when archived_at is null then 'live ' else 'archived ' end || state as where
         from outbox.message_all where id = any($1::uuid[])`,
        [labels.map((label) => bench.idOf(label))],
      );
      return labels.map((label) =>
        rows
          .filter(({ id }) => id === bench.idOf(label))
          .map(({ where }) => where)
          .join(' and '),
      );
    },
  };
}

async function age(database: Database, interval: string): Promise<void> {
  for (const [table, columns] of [
    ['message', ['created_at', 'updated_at', 'published_at']],
    ['batch', ['published_at']],
    ['attempt', ['at']],
    ['processed', ['processed_at']],
    ['processed_epoch', ['begun_at', 'ended_at']],
    ['consumer_group', ['seen_at']],
  ] as const) {
    const moved = columns.map((column) => `${column} = ${column} - $1::interval`).join(', ');
    await database.query(`update outbox.${table} set ${moved}`, [interval]);
  }
}
