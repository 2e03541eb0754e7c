import type { Sql } from '../database/database.ts';

/** A schedule as its row has it. */
export interface ListedSchedule {
  /** Unique in the installation. */
  readonly name: string;
  /** Name of the topic of its messages. */
  readonly topic: string;
  /** Key of its messages; `null`: they have none. */
  readonly key: string | null;
  /** Ref of its messages; `null`: they have none. */
  readonly ref: string | null;
  /** This, or `everyMs`. */
  readonly cron: string | null;
  /** Milliseconds between its times, which are multiples of it since 1970. */
  readonly everyMs: number | null;
  /** Zone of `cron`. */
  readonly timeZone: string;
  /** Whether a time writes a message while the previous one is still to be sent. */
  readonly overlap: 'allow' | 'skip';
  /** How late a missed time still writes its message. */
  readonly catchUpMs: number;
  /** Milliseconds from a time to the expiry of its message; `null`: it does not expire. */
  readonly expiresAfterMs: number | null;
  /** True: its times write no message. */
  readonly paused: boolean;
  /** False: Temporal does not yet have its last change; relays bring that about. */
  readonly followed: boolean;
  /** The time of its last message; `null`: none yet. */
  readonly lastAt: Date | null;
  /** Id of its last message. */
  readonly lastMessageId: string | null;
  /** Why the database refused its last message; `null`: it did not. */
  readonly lastError: string | null;
  /** The next times, at most three. Those of `cron` as Temporal lists them: none before it has the schedule. */
  readonly nextAt: readonly Date[];
}

/** Schedules by name, without those that were removed. */
export async function listSchedules(sql: Sql): Promise<readonly ListedSchedule[]> {
  const rows = await sql.query<Omit<ListedSchedule, 'nextAt'> & { readonly nextMs: readonly number[] }>(
    `select s.name, s.topic, s.key, s.ref, s.cron, s.every_ms::float8 as "everyMs", s.time_zone as "timeZone", s.overlap,
       s.catch_up_ms::float8 as "catchUpMs", s.expires_after_ms::float8 as "expiresAfterMs", s.paused, s.followed_version is not distinct from s.version as followed,
       s.last_at as "lastAt", s.last_message_id as "lastMessageId", s.last_error as "lastError",
       array(select x.ms from (
         select extract(epoch from at)::float8 * 1000 as ms from unnest(s.next_at) at where at > outbox.clock()
         union all
         select ((floor(extract(epoch from outbox.clock()) * 1000 / s.every_ms) + n) * s.every_ms)::float8
         from generate_series(1, 3) n where s.every_ms is not null
       ) x where not s.paused order by x.ms limit 3) as "nextMs"
     from outbox.schedule s where not s.removed order by s.name`,
  );
  return rows.map(({ nextMs, ...row }) => ({ ...row, nextAt: nextMs.map((ms) => new Date(ms)) }));
}
