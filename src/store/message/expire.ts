import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** A message that has ended at its expiry. */
export interface ExpiredMessage extends Lane {
  readonly id: string;
  /** `null`: it has none, or its topic does not show keys. */
  readonly key: string | null;
  /** An earlier try may have published it. */
  readonly maybePublished: boolean;
}

const shown = `m.id, m.topic, m.lane, case when (select t.visible from outbox.topic t where t.name = m.topic) is not false
  then m.key end as key, m.maybe_published as "maybePublished"`;

/**
 * Ends blocked messages whose expiry has passed, the longest expired first; not those that were published before and are sent
 * again. What they were behind still blocks the later ones of their key, so no key becomes free. Locked rows wait for a later
 * call.
 */
export function expireBlocked(sql: Sql, limit: number): Promise<readonly ExpiredMessage[]> {
  return sql.query<ExpiredMessage>(
    `with over as materialized (
       select x.id from only outbox.message x
       where x.state = 'blocked' and x.published_at is null and x.expires_at is not null and x.expires_at <= outbox.clock()
       order by x.expires_at, x.id limit $1 for update skip locked
     )
     update only outbox.message m set state = 'expired', updated_at = outbox.clock()
     from over where m.id = over.id returning ${shown}`,
    [limit],
  );
}

/** Those of the messages that have expired. */
export function readExpired(sql: Sql, ids: readonly string[]): Promise<readonly ExpiredMessage[]> {
  return sql.query<ExpiredMessage>(
    `select ${shown} from only outbox.message m where m.id = any($1::uuid[]) and m.state::text = 'expired' order by m.position`,
    [[...ids]],
  );
}
