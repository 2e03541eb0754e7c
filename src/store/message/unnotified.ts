import type { Sql } from '../database/database.ts';

/** A message that has failed for good: nothing sends it again unless a person retries it. */
export interface FailedMessage {
  /** Its id, as the consumer would have got it. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Its key; `null`: it has none. */
  readonly key: string | null;
  /** Its ref; `null`: it has none. */
  readonly ref: string | null;
  /** Its payload as it is stored: JSON, unless an operator's edit says otherwise. */
  readonly payload: string;
  /** Why the last try failed, as `show` prints it. */
  readonly error: string;
  /** Number of its tries, since it was sent or since an operator's last retry. */
  readonly attempts: number;
  /** When it failed, on the database's clock. */
  readonly failedAt: Date;
  /**
   * How many later messages of its key wait for it at the moment, with `exhausted: 'block-key'`; later ones will wait as well.
   * Always 0 with `release-key`.
   */
  readonly waiting: number;
}

/**
 * Notes the notice of the first failed message of these topics that has none, and locks it for the rest of the transaction.
 * Messages that others have locked are skipped.
 *
 * @param except ids that are left out
 */
export async function noteNotice(
  sql: Sql,
  topics: readonly string[],
  except: readonly string[],
): Promise<FailedMessage | undefined> {
  const [failure] = await sql.query<FailedMessage>(
    `with next as (
       select m.id from only outbox.message m
       where not m.notified and m.topic = any($1::text[]) and m.id <> all($2::uuid[])
       order by m.position limit 1 for update skip locked)
     update only outbox.message m set notified = true from next where m.id = next.id
     returning m.id, m.topic, m.key, m.ref, m.payload, coalesce(m.last_error, '') as error, m.attempts, m.updated_at as "failedAt",
       (select count(*)::integer from only outbox.message b
        where b.topic = m.topic and b.lane = m.lane and b.key = m.key and b.state = 'blocked') as waiting`,
    [[...topics], [...except]],
  );
  return failure;
}
