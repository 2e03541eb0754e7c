import type { Sql } from '../database/database.ts';

/** A message as it is kept: everything that a later try needs, and why it is kept. */
export interface KeptMessage {
  readonly id: string;
  readonly topic: string;
  /** As {@link storableText} makes it. */
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
  /** A failed message holds its key until a person decides. */
  readonly hold: boolean;
  /** Tries so far: 1 after the quick ones, 0 for a message that only waits behind another, or failed for reasons of others. */
  readonly attempts: number;
  readonly reason: string | null;
  readonly error: string | null;
}

/**
 * Keeps messages, each behind those of its key, in the transaction that noted their ids.
 *
 * @param retryInMs when the first message of a key that was free until now is tried again
 */
export async function park(
  sql: Sql,
  group: string,
  messages: readonly KeptMessage[],
  retryInMs: number,
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

/** PostgreSQL keeps every text but the character NUL and halves of characters. */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\u2400')).toString();
}
