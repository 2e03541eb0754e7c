import { shared } from '../../core/shared.ts';

/**
 * What transactions need of a pooled connection: the `PoolClient` of `pg`.
 *
 * The type is structural, so that the library needs no types of `pg`.
 */
export interface PoolConnection {
  /** Runs one statement with `$1`-style values, after all earlier ones. */
  readonly query: (statement: {
    readonly text: string;
    readonly values: unknown[];
  }) => Promise<{ readonly command: string; readonly rows: readonly unknown[] }>;
  /** Returns the connection to the pool; with an error it is closed. */
  release(error?: Error): void;
  /** Adds a listener of errors of the connection. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Removes the listener. */
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** What transactions need of a connection pool: the `Pool` of `pg`, or a compatible one. */
export interface ConnectionPool<Connection extends PoolConnection = PoolConnection> {
  /** Returns a connection for exclusive use until it is released. */
  connect(): Promise<Connection>;
  /** Not callable: `pg` has two overloads, and the compiler infers the type of its connections only if there are two here. */
  connect(callback: never): void;
  /** Runs one statement with `$1`-style values on any connection. */
  query(statement: {
    readonly text: string;
    readonly values: unknown[];
  }): Promise<{ readonly rows: readonly unknown[] }>;
  /** Adds a listener of errors of idle connections. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Adds a listener of new connections. */
  on(event: 'connect', listener: (connection: PoolConnection) => void): unknown;
  /** `max`: the maximum number of connections. */
  readonly options?: { readonly max?: unknown };
}

const heardPools = shared('heard-pools', () => new WeakSet<object>());
const heardConnections = shared('heard-connections', () => new WeakSet<object>());

/**
 * Keeps the process alive when a server ends connections: `pg` emits the error of a connection, which ends the process if
 * there is no listener. A pool listens only to idle connections, and emits their errors itself; while a connection is being
 * handed out or returned, nobody listens. The pool replaces such connections by itself.
 */
export function outlive(pool: ConnectionPool): void {
  if (heardPools.has(pool)) return;
  heardPools.add(pool);
  pool.on('error', () => undefined);
  pool.on('connect', outliveConnection);
}

/** The same for a connection that was opened before there was a listener on its pool. */
export function outliveConnection(connection: PoolConnection): void {
  if (heardConnections.has(connection)) return;
  heardConnections.add(connection);
  connection.on('error', () => undefined);
}
