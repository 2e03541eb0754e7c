/**
 * A connection of a pool, as far as transactions need it: the `PoolClient` of `pg`.
 *
 * The type is structural, so that the library needs no types of `pg`.
 */
export interface PoolConnection {
  /** Runs one statement with `$1`-style values, after those that were asked for before. */
  readonly query: (statement: {
    readonly text: string;
    readonly values: unknown[];
  }) => Promise<{ readonly command: string; readonly rows: readonly unknown[] }>;
  /** Gives it back; with an error it is closed. */
  release(error?: Error): void;
  /** Tells the listener of errors of the connection. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Stops telling the listener. */
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** A pool of connections, as far as transactions need it: the `Pool` of `pg`, and what is like it. */
export interface ConnectionPool<Connection extends PoolConnection = PoolConnection> {
  /** Answers a connection that nobody else has, until it is released. */
  connect(): Promise<Connection>;
  /** No way to call it: `pg` has two forms, and the compiler finds the type of its connections only when there are two here. */
  connect(callback: never): void;
  /** Runs one statement with `$1`-style values on any connection. */
  query(statement: {
    readonly text: string;
    readonly values: unknown[];
  }): Promise<{ readonly rows: readonly unknown[] }>;
  /** Tells the listener of errors of connections that nobody uses. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Tells the listener of every new connection. */
  on(event: 'connect', listener: (connection: PoolConnection) => void): unknown;
  /** `max`: how many connections it has at most. */
  readonly options?: { readonly max?: unknown };
}

const heardPools = new WeakSet<object>();
const heardConnections = new WeakSet<object>();

/**
 * Keeps the process alive when a server ends connections: `pg` gives the error of a connection to its listeners, and ends
 * the process if there are none. A pool listens to idle ones only and passes that on, and what a server says while a
 * connection changes hands is heard by nobody. The pool replaces such connections by itself.
 */
export function outlive(pool: ConnectionPool): void {
  if (heardPools.has(pool)) return;
  heardPools.add(pool);
  pool.on('error', () => undefined);
  pool.on('connect', outliveConnection);
}

/** The same for one that was made before anybody could listen to its pool. */
export function outliveConnection(connection: PoolConnection): void {
  if (heardConnections.has(connection)) return;
  heardConnections.add(connection);
  connection.on('error', () => undefined);
}
