import pg from 'pg';
import { clientConfig } from './client-config.ts';
import type { Database, Session, Sql } from './database.ts';
import type { DatabaseAddress } from './database-address.ts';
import { outlive } from './pool-connection.ts';
import { openSession } from './session.ts';
import { Silence, type SilenceLimits } from './silence.ts';

export interface PoolOptions extends DatabaseAddress {
  /** Most connections, 1 or more. @defaultValue 10 */
  readonly connections?: number;
  /** What keeps a server, or a transaction of somebody else, from stopping this process. @defaultValue none */
  readonly limits?: StatementLimits;
  /** For statements that may take minutes: what keeps a server that is gone from stopping this process. @defaultValue none */
  readonly silence?: SilenceLimits;
}

/** Milliseconds. */
export interface StatementLimits {
  /** An answer that takes longer is given up, with its connection: the other side may have died silently. */
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

/** A pool whose size may be changed. */
export interface ResizableDatabase extends Database {
  /** From now on it has at most this many connections. Connections above that are closed once they have been idle for a while. */
  resize(connections: number): void;
}

/** A firewall, or a host that has vanished, is noticed by TCP after this time and ten seconds, if nothing is on its way. */
const keepAliveAfterMs = 10_000;
/** Connections whose end the server has not answered by then are dropped: they would keep the process. */
const goodbyeMs = 500;

/** Opens a pool. Connections are made when first needed, so this succeeds while the server is away. */
export function openDatabase({
  connections = 10,
  limits,
  silence,
  ...address
}: PoolOptions): ResizableDatabase {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max: connections,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    ...(limits !== undefined && { query_timeout: limits.statementMs }),
  });
  outlive(pool);
  const open = new Set<pg.PoolClient>();
  pool.on('connect', (client) => open.add(client));
  pool.on('remove', (client) => open.delete(client));
  const unheard = silence === undefined ? undefined : new Silence(address, silence);
  return {
    query: (text, values) =>
      unheard === undefined
        ? run(pool, text, values)
        : lend(pool, unheard, (lent) => lent.query(text, values)),
    transaction: (work) => lend(pool, unheard, (lent) => inTransaction(lent, limits, work)),
    openSession: (channel, onNotify) => openWatchedSession(pool, address, channel, onNotify),
    // Read by the pool at every request for a connection.
    resize: (most) => void (pool.options.max = most),
    async close() {
      await pool.end();
      const dropAll = (): void => {
        for (const client of open) client.connection.stream.destroy();
      };
      setTimeout(dropAll, goodbyeMs).unref();
    },
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

/** A connection in the hands of one piece of work. */
interface Lent extends Sql {
  /** It has failed: an answer did not come, and none would come to anything else. */
  readonly broken: () => boolean;
  /** It is not to be used again. */
  readonly drop: (why: Error) => void;
}

async function lend<Result>(
  pool: pg.Pool,
  unheard: Silence | undefined,
  work: (lent: Lent) => Promise<Result>,
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
    return await work({
      query: <Row>(text: string, values?: readonly unknown[]) => {
        const statement = (): Promise<readonly Row[]> => run<Row>(client, text, values);
        return (unheard === undefined ? statement() : unheard.during(client, statement)).catch(noticed);
      },
      broken: () => broken !== undefined,
      drop: onError,
    });
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

async function inTransaction<Result>(
  lent: Lent,
  limits: StatementLimits | undefined,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  try {
    await lent.query(beginOf(limits));
    const result = await work({ query: (text, values) => lent.query(text, values) });
    await lent.query('commit');
    return result;
  } catch (error) {
    if (!lent.broken()) await lent.query('rollback').catch(lent.drop);
    throw error;
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
