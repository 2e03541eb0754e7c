import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';
import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** How to count effects, and which group they belong to. */
export interface EffectsQuery {
  /**
   * SQL that returns the columns `id` (of the message, text or uuid) and `effects` (number of effects), at most one row per
   * message. @defaultValue effects are not counted; only whether the group handled or keeps what its offsets have passed
   */
  readonly query?: string | undefined;
  /** The consumer group whose effects these are. */
  readonly group: string;
}

/** With the query that counts effects. */
export type CountedEffects = EffectsQuery & { readonly query: string };

const joined = ({ query }: CountedEffects): string => `
  from (select e.id::text as id, e.effects::bigint as effects from (${query}) e) e
  full join (
    select message_id, max(topic) as topic, max(processed_at) as processed_at, bool_or(expired or ended_at = 'infinity') as ended from outbox.processed
    where consumer_group = $1 group by message_id) p on p.message_id = e.id`;

/**
 * I4, effect once: no message has two effects, none has an effect without a processed id, and none is processed without an
 * effect, unless it had expired, or its consumer keeps it (parked, failed), or has kept it and removed it without an effect.
 *
 * The query should omit messages older than the window of processed ids. Of the processed messages, those newer than
 * `since` are checked.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` if the query fails, or writes
 */
export async function verifyEffects(sql: Sql, effects: CountedEffects, since: Date | null): Promise<Finding> {
  const values = [effects.group, since];
  try {
    const found = await findViolations(
      sql,
      `select * from (
         select case
             when e.effects > 1 then format('It had its effect %s times.', e.effects)
             when p.message_id is null and e.effects > 0 then 'It had its effect without a processed id.'
             when coalesce(e.effects, 0) = 0 and p.ended is not true and p.processed_at >= coalesce($2::timestamptz, '-infinity')
               and not exists (select from outbox.parked k where k.consumer_group = $1 and k.message_id = p.message_id)
               then 'It is processed and had no effect.'
           end as what, p.topic, coalesce(e.id, p.message_id) as id, null as key ${joined(effects)}) x
       where what is not null`,
      values,
    );
    const checked = await countRows(
      sql,
      `select count(*)::integer as count ${joined(effects)} where $2::timestamptz is null or true`,
      values,
    );
    return { checked, ...found, notes: {} };
  } catch (cause) {
    throw new OutboxError('OUTBOX_OPTION_INVALID', `The query of the effects failed: ${reasonOf(cause)}.`, {
      cause,
      details: { option: 'effects' },
    });
  }
}
