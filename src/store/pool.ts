import pg from 'pg';
import { clientConfig, type DatabaseAddress } from './database-address.ts';
import type { Database, Session, Sql } from './database.ts';
import { openSession } from './session.ts';

export interface PoolOptions extends DatabaseAddress {
  /** Most connections, 1 or more. @defaultValue 10 */
  readonly connections?: number;
  /** What keeps a server, or a transaction of somebody else, from stopping this process. @defaultValue none */
  readonly limits?: StatementLimits;
}

/** Milliseconds. */
export interface StatementLimits {
  /** An answer that takes longer is given up, and its connection with it: the other side may be gone without a word. */
  readonly statementMs: number;
  /** Longest wait of a transaction for a lock. */
  readonly lockMs: number;
}

/** Of a relay. A first claim behind a backlog of a hundred million messages takes some 15 s. */
export const relayLimits: StatementLimits = { statementMs: 30_000, lockMs: 5_000 };

/**
 * A transaction of ours that is silent for so long is ended by the server, with its locks: its process was frozen, or its
 * connection is gone. Half of a lease, so that whoever takes a lane from a frozen relay finds its row free.
 */
const idleMs = 5_000;

/** Opens a pool. Connections are made when first needed, so this succeeds while the server is away. */
export function openDatabase({ connections = 10, limits, ...address }: PoolOptions): Database {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max: connections,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    ...(limits !== undefined && { query_timeout: limits.statementMs }),
  });
  // Without a listener an error of an idle connection would end the process; the pool replaces the connection.
  pool.on('error', () => undefined);
  return {
    query: (text, values) => run(pool, text, values),
    transaction: (work) => inTransaction(pool, limits, work),
    openSession: (channel, onNotify) => openWatchedSession(pool, address, channel, onNotify),
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

async function inTransaction<Result>(
  pool: pg.Pool,
  limits: StatementLimits | undefined,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  const noticed = (error: unknown): never => {
    if (error instanceof Error && !(error instanceof pg.DatabaseError)) broken = error;
    throw error;
  };
  client.on('error', onError);
  try {
    await client.query(beginOf(limits));
    const result = await work({
      query: <Row>(text: string, values?: readonly unknown[]) =>
        run<Row>(client, text, values).catch(noticed),
    });
    await client.query('commit').catch(noticed);
    return result;
  } catch (error) {
    // Where an answer did not come, none would come to this either.
    if (broken === undefined) await client.query('rollback').catch(onError);
    throw error;
  } finally {
    // One that is broken may have more to say while it is being closed, and would end the process if nobody listened.
    if (broken === undefined) client.off('error', onError);
    client.release(broken);
  }
}

/** In one message. Local to the transaction, so that a pooler may hand its connection to others. */
function beginOf(limits: StatementLimits | undefined): string {
  const settings = {
    idle_in_transaction_session_timeout: idleMs,
    ...(limits !== undefined && { lock_timeout: limits.lockMs, statement_timeout: limits.statementMs }),
  };
  const local = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
  return ['begin', ...local].join('; ');
}

/**
 * What is lost with the session is the way to the server, as far as anybody can tell: statements under way are given up
 * with it, because answers that never come would keep their callers.
 */
async function openWatchedSession(
  pool: pg.Pool,
  address: DatabaseAddress,
  channel: string,
  onNotify: (payload: string) => void,
): Promise<Session> {
  const busy = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => busy.add(client));
  pool.on('release', (_, client) => busy.delete(client));
  return openSession(address, channel, onNotify, () => {
    for (const client of busy) client.connection.stream.destroy();
  });
}
