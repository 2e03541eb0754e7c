import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';

/** A message as a test sees it inside its own transaction. */
export interface SentMessage {
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly ref: string | null;
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly state: State;
  readonly dueAt: Date | null;
}

/** What the current transaction has sent so far, in order. */
export async function readSentInTransaction(sql: Sql): Promise<readonly SentMessage[]> {
  return sql.query<SentMessage>(
    `select id::text as id, topic, key, ref, payload, headers, state::text as state, due_at as "dueAt"
     from (select * from only outbox.message union all select * from outbox.log) m
     where xid = pg_current_xact_id_if_assigned() order by position`,
  );
}
