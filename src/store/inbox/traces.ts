import type { Sql } from '../database/database.ts';
import type { ShownAudit } from '../message/show.ts';
import { keepingGroups } from './keeping-groups.ts';
import { type KeptRow, readKeptAudit, readKeptMessage } from './show.ts';

/** What a consumer group's database knows of one message. */
export interface GroupTrace {
  /** Name of the consumer group. */
  readonly group: string;
  /** False: nothing here shows that the group ever consumed from this database. */
  readonly known: boolean;
  /** How long it keeps processed ids, in milliseconds; `null`: forever. */
  readonly windowMs: number | null;
  /** The stored id: handled, or kept. `null`: it never arrived, or its epoch is gone. */
  readonly processed: {
    /** Number of the epoch that holds it, a 64-bit integer as a string. */
    readonly epoch: string;
    /** When the id was stored: with the effect, or when the message was kept. */
    readonly at: Date;
    /** `expired`: its handler was not called. `none`: it was kept, and removed without an effect. */
    readonly effect: 'committed' | 'expired' | 'none';
    /** When that was, of a message that was kept before; `null`: with its id, or not known. */
    readonly endedAt: Date | null;
  } | null;
  readonly kept: KeptRow | null;
  /** What operators did to it in this group; newest first. */
  readonly audit: readonly ShownAudit[];
}

interface TraceRow {
  readonly group: string;
  readonly known: boolean;
  readonly windowMs: number | null;
  readonly epoch: string | null;
  readonly at: Date | null;
  readonly effect: 'committed' | 'expired' | 'none';
  readonly endedAt: Date | null;
  /** The id by which the group keeps it. */
  readonly kept: string | null;
  /** The id by which operators changed it. */
  readonly audited: string | null;
}

/**
 * What groups of this database know of a message.
 *
 * @param ids by which they may know it
 * @param group only this one, whether the database knows it or not; `undefined`: all that it knows
 */
export async function readTraces(
  sql: Sql,
  ids: readonly string[],
  group?: string,
): Promise<readonly GroupTrace[]> {
  const rows = await sql.query<TraceRow>(
    `with recursive ${keepingGroups}, names as (
       select name from keeping where $2::text is null and name is not null
       union select consumer_group from outbox.consumer_group where $2::text is null and consumer_group <> ''
       union select $2::text where $2::text is not null
     )
     select n.name as "group", g.consumer_group is not null or k.kept is not null or a.audited is not null or o.epoch is not null as known,
       g.window_ms::float8 as "windowMs", o.epoch::text as epoch, o.processed_at as at, o.effect,
       case when o.ended_at < 'infinity' then o.ended_at end as "endedAt", k.kept, a.audited
     from names n
       left join outbox.consumer_group g on g.consumer_group = n.name
       left join lateral (select p.epoch, p.processed_at, p.ended_at,
           case when p.ended_at = 'infinity' then 'none' when p.expired then 'expired' else 'committed' end as effect
         from outbox.processed p
         where p.consumer_group = n.name and p.message_id = any($1::text[]) order by p.epoch desc limit 1) o on true
       left join lateral (select p.message_id as kept from outbox.parked p
         where p.consumer_group = n.name and p.message_id = any($1::text[]) limit 1) k on true
       left join lateral (select e.inbox_id as audited from outbox.audit e
         where e.consumer_group = n.name and e.inbox_id = any($1::text[]) limit 1) a on true
     order by 1`,
    [[...ids], group ?? null],
  );
  return Promise.all(rows.map((row) => traceOf(sql, row)));
}

async function traceOf(
  sql: Sql,
  { audited, group, kept, known, windowMs, epoch, at, effect, endedAt }: TraceRow,
): Promise<GroupTrace> {
  return {
    group,
    known,
    windowMs,
    processed: epoch === null || at === null ? null : { epoch, at, effect, endedAt },
    kept: (kept === null ? undefined : await readKeptMessage(sql, { group, id: kept })) ?? null,
    audit: audited === null ? [] : await readKeptAudit(sql, { group, id: audited }),
  };
}
