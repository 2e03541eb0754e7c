import type { Sql } from '../database/database.ts';
import { keepingGroups } from '../inbox/keeping-groups.ts';

/** A consumer group that keeps a message in this database. */
export interface Keeper {
  /** Name of the group. */
  readonly group: string;
  /** The id by which it keeps it: with the installation, if the sender chose the message's. */
  readonly id: string;
  /** `parked`: it is tried again. `failed`: it waits for an operator. */
  readonly state: 'parked' | 'failed';
}

/** The groups that keep a message instead of having handled it, by name. Groups in other databases are not known here. */
export function readKeepers(sql: Sql, ids: readonly string[]): Promise<readonly Keeper[]> {
  return sql.query<Keeper>(
    `with recursive ${keepingGroups}
     select p.consumer_group as "group", p.message_id as id, p.state from keeping n
       join outbox.parked p on p.consumer_group = n.name and p.message_id = any($1::text[])
     where p.state in ('parked', 'failed') order by 1`,
    [[...ids]],
  );
}
