import type { Sql } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';

/** A kept message: everything that a later try needs, and why it is kept. */
export interface KeptMessage {
  readonly id: string;
  readonly topic: string;
  /** The result of {@link storableText}. */
  readonly key: string | null;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  /** Key and headers as they arrived, as JSON. */
  readonly wire: string;
  readonly body: Uint8Array | null;
  readonly sentAt: Date;
  /** `failed`: for a person, without further tries. */
  readonly state: 'parked' | 'failed';
  /** A failed message blocks its key until a person decides. */
  readonly blocksKey: boolean;
  /** Tries so far: 1 after the quick retries, 0 for a message that only waits behind another one, or failed through no fault of its own. */
  readonly attempts: number;
  readonly reason: string | null;
  readonly error: string | null;
}

/**
 * Keeps messages, each behind those of its key, in the transaction that stored their ids.
 *
 * @param retryInMs when the first message of a newly parked key is tried again; `null`: none of them may make such a key
 */
export async function park(
  sql: Sql,
  group: string,
  messages: readonly KeptMessage[],
  retryInMs: number | null = null,
): Promise<void> {
  const rows = messages.map(({ body, error, ...rest }) => ({
    ...rest,
    body: body === null ? null : Buffer.from(body).toString('base64'),
    error: error === null ? null : storableText(error),
  }));
  await sql.query('select 1 from outbox.park($1, $2::jsonb, $3::float8)', [
    group,
    JSON.stringify(rows),
    retryInMs,
  ]);
}
