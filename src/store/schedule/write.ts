import { flagCell, jsonCell, orNull, readRow } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import type { StoreRefusal } from '../message/new-message.ts';

/** A repeating message as it is stored. */
export interface ScheduleRule {
  readonly name: string;
  readonly topic: string;
  readonly payload: string;
  readonly key: string | null;
  readonly ref: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** This, or {@link ScheduleRule.everyMs}. */
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timeZone: string;
  readonly overlap: 'allow' | 'skip';
  readonly catchUpMs: number;
  /** From a time to the expiry of its message. */
  readonly expiresAfterMs: number | null;
}

/** The database's answer. */
interface StoredSchedule {
  /** False: the same was stored already, or it is refused. */
  readonly changed: boolean;
  readonly refusal: StoreRefusal | null;
}

/** Stores a repeating message under its name, if its messages can be stored. The pause of an operator stays, a removal does not. */
export async function storeSchedule(sql: Sql, rule: ScheduleRule): Promise<StoredSchedule> {
  const rows = await sql.query<object>(
    `with judged as (
       select outbox.refusal(jsonb_strip_nulls(jsonb_build_object('payload', $3::text, 'key', $4::text, 'headers', $5::text::jsonb, 'ref', $11::text)),
         outbox.policy($2::text), null, outbox.clock()) as refusal
     ), written as (
       insert into outbox.schedule as s (name, topic, payload, key, headers, cron, every_ms, time_zone, overlap, catch_up_ms, ref, expires_after_ms)
       select $1::text, $2::text, $3::text, $4::text, $5::text::jsonb, $6::text, $7::text::bigint, $8::text, $9::text, $10::text::bigint, $11::text, $12::text::bigint
       from judged where refusal is null
       on conflict (name) do update set topic = excluded.topic, payload = excluded.payload, key = excluded.key, headers = excluded.headers,
         cron = excluded.cron, every_ms = excluded.every_ms, time_zone = excluded.time_zone, overlap = excluded.overlap,
         catch_up_ms = excluded.catch_up_ms, ref = excluded.ref, expires_after_ms = excluded.expires_after_ms, removed = false, paused = s.paused and not s.removed, next_at = '{}', last_error = null,
         holds_since = case when s.removed or (s.cron, s.every_ms, s.time_zone) is distinct from (excluded.cron, excluded.every_ms, excluded.time_zone)
           then outbox.clock() else s.holds_since end,
         version = s.version + 1, updated_at = outbox.clock()
       where s.removed
         or (s.topic, s.payload, s.key, s.headers, s.cron, s.every_ms, s.time_zone, s.overlap, s.catch_up_ms, s.ref, s.expires_after_ms) is distinct from
            (excluded.topic, excluded.payload, excluded.key, excluded.headers, excluded.cron, excluded.every_ms, excluded.time_zone,
             excluded.overlap, excluded.catch_up_ms, excluded.ref, excluded.expires_after_ms)
       returning 1
     )
     select j.refusal::text as refusal, exists (select from written) as changed from judged j`,
    [
      rule.name,
      rule.topic,
      rule.payload,
      rule.key,
      JSON.stringify(rule.headers),
      rule.cron,
      textOf(rule.everyMs),
      rule.timeZone,
      rule.overlap,
      textOf(rule.catchUpMs),
      rule.ref,
      textOf(rule.expiresAfterMs),
    ],
  );
  const { changed, refusal } = readRow(rows, { changed: flagCell, refusal: orNull(jsonCell) });
  return { changed, refusal: refusal as StoreRefusal | null };
}

/** Removes a repeating message; relays delete its row once Temporal has followed. @returns false if there is none */
export async function removeSchedule(sql: Sql, name: string): Promise<boolean> {
  // Some clients return the result of an UPDATE in another form than that of a SELECT.
  const rows = await sql.query<object>(
    `with done as (
       update outbox.schedule set removed = true, version = version + 1, updated_at = outbox.clock()
       where name = $1::text and not removed returning 1
     )
     select exists (select from done) as removed`,
    [name],
  );
  return readRow(rows, { removed: flagCell }).removed;
}

/** As text, because clients disagree about which number is a bigint. */
function textOf(value: number | null): string | null {
  return value === null ? null : String(value);
}
