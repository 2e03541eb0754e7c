import { type State, states } from '../../core/transitions.ts';
import { choiceCell, jsonCell, numberCell, orNull, readRows, textCell } from '../database/answers.ts';
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
  const rows = await sql.query<object>(
    `select id::text as id, topic, key, ref, payload, headers::text as headers, state::text as state,
       (extract(epoch from due_at) * 1000)::float8 as "dueMs"
     from (select * from only outbox.message union all select * from outbox.log) m
     where xid = pg_current_xact_id_if_assigned() order by position`,
  );
  return readRows(rows, sentRow).map(({ dueMs, headers, ...row }) => ({
    ...row,
    headers: headers as SentMessage['headers'],
    dueAt: dueMs === null ? null : new Date(dueMs),
  }));
}

const sentRow = {
  id: textCell,
  topic: textCell,
  key: orNull(textCell),
  ref: orNull(textCell),
  payload: textCell,
  headers: orNull(jsonCell),
  state: choiceCell(...states),
  dueMs: orNull(numberCell),
};
