import { codeTextOf } from '../../core/reason.ts';
/** Runs one statement. Values are sent separately from the text; 64-bit integers are returned as strings. */
export interface Sql {
  /** @param repeated it runs many times a second, and its plan is the same for all values: a connection may keep it prepared */
  query<Row>(text: string, values?: readonly unknown[], repeated?: 'repeated'): Promise<readonly Row[]>;
}

/** Runs statements, alone or in transactions. */
export interface Transactions extends Sql {
  /** Runs `work` in one READ COMMITTED transaction: committed when it resolves, rolled back when it rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** A connection pool of a relay, a consumer or operations. */
export interface Database extends Transactions {
  /**
   * Opens the session of this process: see {@link Session}. Calls `onNotify` with the payload of every notification of
   * the channel. Notifications may be missed: they only save time, nothing depends on them. After a reconnect it is called
   * with an empty payload.
   */
  openSession(channel: string, onNotify: (payload: string) => void): Promise<Session>;
  close(): Promise<void>;
  /** True: its transactions are parts of one, and a lock that a part leaves lasts until the end of all. @defaultValue false */
  readonly inOne?: boolean | undefined;
}

/**
 * A separate connection that lives as long as the process, and reconnects by itself. When the process ends for any reason,
 * the server notices within milliseconds.
 */
export interface Session {
  /** The current connection; `undefined` while there is none, or if a pooler shares it among processes. */
  current(): LiveSession | undefined;
  stop(): Promise<void>;
}

/** One connection of a {@link Session}. */
export interface LiveSession {
  /** Key of the advisory lock that it holds: a bigint as a string, different for each connection. */
  readonly key: string;
}

/** True if the database cannot be reached, as opposed to a refused statement. */
export function isConnectionFailure(error: unknown): boolean {
  const code = codeTextOf(error);
  if (!/^[0-9A-Z]{5}$/.test(code)) return true;
  // Connection exceptions, a server that stops or starts, one out of resources, and the end of an idle transaction.
  return ['08', '57P', '53', '25P03'].some((prefix) => code.startsWith(prefix));
}
