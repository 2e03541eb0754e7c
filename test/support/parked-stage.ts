import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { inject } from 'vitest';
import { ParkedWatcher, type ParkedWatchFailure } from '../../src/inbox/parked-watcher.ts';
import type { DrainKeyAnswer, KeyDrains } from '../../src/inbox/ports.ts';
import type { Database } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { startHandlers } from '../../src/temporal/handler-engine.ts';
import { createTestDatabase } from './database.ts';
import { quietTemporal } from './stage.ts';
import { until } from './until.ts';

/** A parked key as its row says. */
export interface ParkedKey {
  readonly keyId: string;
  readonly workflowId: string;
  readonly told: boolean;
}

/** A consumer's watcher and hosted workflows, without a consumer. */
export interface ParkedHost {
  readonly watcher: ParkedWatcher;
  readonly failures: readonly ParkedWatchFailure[];
  /** Resolves when it has started a workflow, and therefore hosts those of its group. */
  readonly hosting: Promise<void>;
  stop(): Promise<void>;
}

export interface ParkedHostOptions {
  readonly drains?: KeyDrains;
  readonly visible?: boolean;
  /** Keys that are drained side by side. */
  readonly concurrency?: number;
  readonly temporalAddress?: string;
}

/** What a watcher finds where drains leave no tries in the database. */
export const noDeadTries = { keys: [], others: false } as const;

/** One installation with one consumer group, on real PostgreSQL and Temporal. */
export interface ParkedStage {
  readonly url: string;
  readonly database: Database;
  readonly installation: string;
  readonly group: string;
  readonly namespace: string;
  readonly temporal: Client;
  /** Parks one message, behind `key` or without one, to be tried in so many milliseconds. */
  park(key: string | null, retryMs: number): Promise<ParkedKey>;
  /** Parks one message behind each of so many keys, at once. */
  parkMany(count: number, retryMs: number): Promise<void>;
  keys(): Promise<readonly ParkedKey[]>;
  handleOf(workflowId: string): WorkflowHandle;
  /** Waits until a worker has taken the workflow, and its timer is set. */
  untilSleeping(workflowId: string): Promise<void>;
  /** Waits until no key is parked. */
  untilDrained(withinMs?: number): Promise<void>;
  /** Makes the next try of every key late by so much, as if the time had passed since they were told. */
  makeLate(lateMs: number): Promise<void>;
  /** Runs watcher and workflows in this process, with drains that empty a key once it is due. */
  host(options?: ParkedHostOptions): ParkedHost;
}

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

export async function openParkedStage(
  { onTestFinished }: TestEnd,
  options: { readonly group?: string; readonly namespace?: string } = {},
): Promise<ParkedStage> {
  quietTemporal();
  const { group = 'shop', namespace = 'default' } = options;
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const { url, database } = made;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  const installation = await readInstallation(database);
  const keys = (): Promise<readonly ParkedKey[]> => readKeys(database, group);
  const temporal = new Client({ connection, namespace });
  return {
    url,
    database,
    installation,
    group,
    namespace,
    temporal,
    keys,
    handleOf: (workflowId) => temporal.workflow.getHandle(workflowId),
    untilSleeping: (workflowId) =>
      until(async () => (await temporal.workflow.getHandle(workflowId).describe()).historyLength >= 5),
    untilDrained: (withinMs) => until(async () => (await keys()).length === 0, withinMs),
    async makeLate(lateMs) {
      await database.query(
        `update outbox.parked_key set next_at = outbox.clock() - $1 * interval '1 ms',
           told_at = outbox.clock() - $1 * interval '1 ms'`,
        [lateMs],
      );
    },
    async park(key, retryMs) {
      const id = randomUUID();
      await park(database, group, [messageOf(id, key)], retryMs);
      const [parked] = await readKeys(database, group, id);
      if (parked === undefined) throw new Error('The message was not parked.');
      return parked;
    },
    async parkMany(count, retryMs) {
      const messages = Array.from({ length: count }, (_, n) => messageOf(randomUUID(), `many-${n}`));
      await park(database, group, messages, retryMs);
    },
    host({ concurrency, drains = emptyingDrains(database), visible = true, temporalAddress } = {}) {
      const failures: ParkedWatchFailure[] = [];
      const handlers = startHandlers({
        temporal: { address: temporalAddress ?? inject('temporalAddress'), namespace },
        installation,
        group,
        drains,
        ...(concurrency !== undefined && { concurrency }),
        visible: () => visible,
        report: () => undefined,
      });
      let onHosting = (): void => undefined;
      const hosting = new Promise<void>((resolve) => (onHosting = resolve));
      const watcher = new ParkedWatcher({
        group,
        withSql: (work) => work(database),
        workflows: {
          async start(key) {
            await handlers.workflows.start(key);
            onHosting();
          },
        },
        endDeadTries: async () => noDeadTries,
        failed: (failure) => failures.push(failure),
      });
      watcher.start();
      const stop = async (): Promise<void> => {
        await watcher.stop();
        await handlers.stop();
      };
      onTestFinished(stop);
      return { watcher, failures, hosting, stop };
    },
  };
}

/** Drains that have the key in hand until they are told to stop, and then leave the rest to the next. */
export function lingeringDrains(onBegin: () => void): KeyDrains {
  return {
    async drain(_keyId, signal, progress) {
      onBegin();
      await until(() => {
        progress();
        return signal.aborted;
      });
      return { kind: 'waiting', inMs: 0 };
    },
  };
}

/** Does what a consumer's drain does, as far as rows show it: looks at the time of the next try, and empties the key. */
function emptyingDrains(database: Database): KeyDrains {
  return { drain: (keyId) => emptyKey(database, keyId) };
}

export async function emptyKey(database: Database, keyId: string): Promise<DrainKeyAnswer> {
  const [row] = await database.query<{ inMs: number | null }>(
    `select case when next_at < 'infinity' then extract(epoch from next_at - outbox.clock())::float8 * 1000 end as "inMs"
     from outbox.parked_key where id = $1`,
    [keyId],
  );
  if (row === undefined) return { kind: 'drained' };
  if (row.inMs === null) return { kind: 'held' };
  if (row.inMs > 0) return { kind: 'waiting', inMs: row.inMs };
  await database.query('delete from outbox.parked where key_id = $1', [keyId]);
  await database.query('select outbox.end_key($1)', [keyId]);
  return { kind: 'drained' };
}

function messageOf(id: string, key: string | null) {
  return {
    id,
    key,
    topic: 'orders',
    state: 'parked',
    address: 'orders',
    partition: 0,
    offset: '0',
    wire: '{}',
    body: Buffer.from('a secret').toString('base64'),
    sentAt: new Date().toISOString(),
    attempts: 1,
    reason: 'failed',
    error: 'no',
  };
}

async function park(
  database: Database,
  group: string,
  messages: readonly ReturnType<typeof messageOf>[],
  retryMs: number,
): Promise<void> {
  await database.query('select outbox.park($1, $2, $3)', [group, JSON.stringify(messages), retryMs]);
}

async function readKeys(
  database: Database,
  group: string,
  messageId: string | null = null,
): Promise<readonly ParkedKey[]> {
  return database.query<ParkedKey>(
    `select k.id::text as "keyId", k.workflow_id as "workflowId", k.told_at is not null as told from outbox.parked_key k
     where k.consumer_group = $1 and ($2::text is null or k.id in (select key_id from outbox.parked where message_id = $2))
     order by k.next_at, k.id`,
    [group, messageId],
  );
}
