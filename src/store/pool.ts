import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Database, Sql } from './database.ts';

export interface PoolOptions {
  /** `postgresql://user:password@host:port/database` */
  readonly url: string;
  /** Most connections, 1 or more. @defaultValue 10 */
  readonly connections?: number;
}

/** Opens a pool. Connections are made when first needed, so this succeeds while the server is away. */
export function openDatabase(options: PoolOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    connectionTimeoutMillis: 5_000,
    application_name: 'temporal-outbox',
  });
  // Without a listener an error of an idle connection would end the process; the pool replaces the connection.
  pool.on('error', () => undefined);
  return {
    query: (text, values) => run(pool, text, values),
    transaction: (work) => inTransaction(pool, work),
    listen: (channel, onNotify) => listen(options.url, channel, onNotify),
    close: () => pool.end(),
  };
}

async function run<Row>(
  target: pg.Pool | pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const result = await target.query(text, [...values]);
  return result.rows as readonly Row[];
}

async function inTransaction<Result>(pool: pg.Pool, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('begin');
    const result = await work({ query: (text, values) => run(client, text, values) });
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** A connection of its own, because LISTEN belongs to a session and pools hand sessions around. */
async function listen(
  url: string,
  channel: string,
  onNotify: (payload: string) => void,
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  let client: pg.Client | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'temporal-outbox listen',
      keepAlive: true,
    });
    const ended = new Promise<void>((resolve) => {
      next.on('error', () => resolve());
      next.on('end', () => resolve());
    });
    next.on('notification', ({ payload }) => onNotify(payload ?? ''));
    client = next;
    await next.connect();
    await next.query(`listen ${pg.escapeIdentifier(channel)}`);
    void ended.then(() => reconnect());
  }

  async function reconnect(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await connect();
        onNotify('');
        return;
      } catch {
        await delay(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  await connect().catch(() => void reconnect());
  return {
    stop: async () => {
      stopping.abort();
      await client?.end().catch(() => undefined);
    },
  };
}
