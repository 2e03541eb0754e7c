/** Runs one statement. Values are sent apart from the text; 64-bit integers come back as text. */
export interface Sql {
  query<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

/** A connection pool of the relay. */
export interface Database extends Sql {
  /** Runs `work` in one READ COMMITTED transaction: committed when it resolves, rolled back when it rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /**
   * Calls `onNotify` with the payload of every notification of the channel, and reconnects by itself. Notifications may
   * be missed: they make things faster, nothing depends on them. After a reconnect it is called with an empty payload.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

/** True when the database cannot be reached, in contrast to a statement that it refused. */
export function isConnectionFailure(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  if (/^[0-9A-Z]{5}$/.test(code))
    return code.startsWith('08') || code.startsWith('57P') || code.startsWith('53');
  return true;
}
