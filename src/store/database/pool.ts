import pg from 'pg';
import { reasonOf } from '../../core/reason.ts';
import { startTimer } from '../../core/timer.ts';
import { spoilsSession } from './bad-session.ts';
import { clientConfig } from './client-config.ts';
import type { Database, Sql } from './database.ts';
import type { DatabaseAddress } from './database-address.ts';
import { setUpConnection, trustLocally } from './own-names.ts';
import { outlive } from './pool-connection.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { openSession } from './session.ts';
import { Silence, type SilenceLimits } from './silence.ts';

export interface PoolOptions extends DatabaseAddress {
  /** Maximum number of connections, 1 or more. @defaultValue 10 */
  readonly connections?: number;
  /** Time limits, so that neither the server nor another transaction can block this process. @defaultValue none */
  readonly limits?: StatementLimits;
  /** For statements that may take minutes: limits so that a dead server cannot block this process. @defaultValue none */
  readonly silence?: SilenceLimits;
  /** Resolve names by the catalog alone, whatever the role's search path is. @defaultValue false */
  readonly ownNames?: boolean;
}

/** Milliseconds. */
export interface StatementLimits {
  /** A statement that takes longer is given up, with its connection: the server may have died silently. */
  readonly statementMs: number;
  /** Longest wait of a transaction for a lock. */
  readonly lockMs: number;
}

/** Limits of a relay. The first claim behind a backlog of a hundred million messages takes about 15 s. */
export const relayLimits: StatementLimits = { statementMs: 30_000, lockMs: 5_000 };

/**
 * The server ends a transaction of ours that is idle for this long, and so its locks: its process is frozen, or its
 * connection is gone. Half of a lease, so that a relay that takes a lane from a frozen one finds the row unlocked.
 */
const idleMs = 5_000;

/** A pool whose size may be changed. */
export interface ResizableDatabase extends Database {
  /** Sets the maximum number of connections. Connections above it are closed once they have been idle for a while. */
  resize(connections: number): void;
  /** Number of connections that somebody uses now. */
  inUse(): number;
}

/** With it, TCP notices a firewall or a vanished host ten seconds after this time, on a connection without traffic. */
const keepAliveAfterMs = 10_000;
/** Each meets another transaction than the one before. */
const triesInConflict = 10;
/** How long to wait for the server to close connections; then they are dropped, because they would keep the process alive. */
const goodbyeMs = 500;

/** Opens a pool. Connections are opened when first needed, so this succeeds even if the server is unreachable. */
export function openDatabase({
  connections = 10,
  limits,
  silence,
  ownNames = false,
  ...address
}: PoolOptions): ResizableDatabase {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max: connections,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    ...(limits !== undefined && { query_timeout: limits.statementMs }),
    // Before a new connection is handed out.
    ...(ownNames && { verify: (client, done) => void verified(client, done) }),
  });
  outlive(pool);
  const open = new Set<pg.PoolClient>();
  pool.on('connect', (client) => open.add(client));
  pool.on('remove', (client) => open.delete(client));
  const dropAll = (): void => {
    for (const client of open) client.connection.stream.destroy();
  };
  const unheard = silence === undefined ? undefined : new Silence(address, silence);
  const prepared = new PreparedStatements(pool);
  const begin = beginOf(limits, ownNames);
  return {
    query(text, values, repeated) {
      return unlessInConflict(() => {
        if (unheard !== undefined) return lend(pool, unheard, (lent) => lent.query(text, values));
        return repeated === undefined ? run(pool, text, values) : prepared.run(text, values);
      });
    },
    transaction: (work) => lend(pool, unheard, (lent) => inTransaction(lent, begin, work)),
    // If the session becomes silent, the server is probably unreachable. Answers that never arrive would block callers, also
    // the next ones of connections that are idle now: those have died as well, unnoticed.
    openSession: (channel, onNotify) => openSession(address, channel, onNotify, dropAll),
    // The pool reads it on every checkout.
    resize: (most) => void (pool.options.max = most),
    inUse: () => pool.totalCount - pool.idleCount,
    async close() {
      await pool.end();
      startTimer(dropAll, goodbyeMs).unref();
    },
  };
}

async function verified(client: pg.PoolClient, done: (error?: Error) => void): Promise<void> {
  try {
    await setUpConnection(client);
  } catch (error) {
    return done(error instanceof Error ? error : new Error(reasonOf(error)));
  }
  done();
}

/**
 * A statement alone has the default of its database, behind a pooler whatever we set. Where that is not READ COMMITTED, it fails
 * if it meets another transaction; then nothing is written, and it is repeated.
 */
async function unlessInConflict<Row>(statement: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await statement();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === '40001') || tries === triesInConflict)
        throw error;
    }
  }
}

async function run<Row>(
  target: pg.Pool | pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const result = await target.query(text, [...values]);
  return result.rows as readonly Row[];
}

/** A connection, checked out for one piece of work. */
interface Lent extends Sql {
  /** True after a missing answer: no other statement would be answered. */
  readonly broken: () => boolean;
  /** Marks it as unusable. */
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
    if (error instanceof Error && (!(error instanceof pg.DatabaseError) || spoilsSession(error)))
      broken = error;
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
  begin: string,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  // What cannot even begin will not do so for the next one either.
  await lent.query(begin).catch((error: unknown) => {
    lent.drop(error instanceof Error ? error : new Error(reasonOf(error)));
    throw error;
  });
  try {
    const result = await work({ query: (text, values) => lent.query(text, values) });
    await lent.query('commit');
    return result;
  } catch (error) {
    if (!lent.broken()) await lent.query('rollback').catch(lent.drop);
    throw error;
  }
}

/** One message. The settings are local to the transaction, so that a pooler may give its connection to other clients. */
function beginOf(limits: StatementLimits | undefined, ownNames: boolean): string {
  const settings = {
    idle_in_transaction_session_timeout: idleMs,
    ...(limits !== undefined && { lock_timeout: limits.lockMs, statement_timeout: limits.statementMs }),
  };
  const local = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
  // Whatever the default of the database is: a settle that meets a renewal of its lane must see it, not fail.
  return ['begin isolation level read committed', ...local, ...(ownNames ? [trustLocally] : [])].join('; ');
}
