import type { Database } from '../database/database.ts';

/** A rule that fires for a subject at a reading of the figures. */
export interface Firing {
  readonly rule: string;
  /** What it is about; empty: the whole installation. */
  readonly subject: string;
  /** The same for programs. */
  readonly labels: Readonly<Record<string, string>>;
  readonly figure: number;
  /** How long the fact has lasted, in milliseconds, if the figure says so: it is older than the reading that found it. */
  readonly lastsMs?: number;
  /** The figure in a sentence. */
  readonly text: string;
  /** The command to run. */
  readonly next: string;
}

/** An alert that has just begun or ended. */
export interface AlertChange extends Pick<Firing, 'rule' | 'subject' | 'text'> {
  readonly change: 'began' | 'ended';
}

/** How alerts go on and end. */
export interface AlertPace {
  /** An alert that goes on for so long is sent again. */
  readonly againMs: number;
  /** An alert that has not fired in so many readings in a row is over: a figure at its threshold must not send one with every reading. */
  readonly calmReadings: number;
}

/** Whether the news of `a` came so long ago, or lies so far in the future: then the clock was set back since. */
const isOldNews = `abs(extract(epoch from outbox.clock() - a.news_at) * 1000) >= $2::float8`;

/** Rows of alerts that are over are kept for this time, and for as long after a silence, which may have hidden their end. */
const keptMs = 24 * 60 * 60_000;

/**
 * Notes which alerts fire at a reading, and which are over.
 *
 * @param number of the reading; nothing is noted if another relay has judged by it, or there is a later one
 */
export async function noteAlerts(
  database: Database,
  number: string,
  firing: readonly Firing[],
  { againMs, calmReadings }: AlertPace,
): Promise<readonly AlertChange[]> {
  return database.transaction(async (sql) => {
    const mine = await sql.query(
      'update outbox.figures set judged = noted where noted = $1::bigint and judged < noted returning noted',
      [number],
    );
    if (mine.length === 0) return [];
    await sql.query(
      'update outbox.alert set calm = calm + 1, calm_since = coalesce(calm_since, outbox.clock()) where over_at is null',
    );
    const began = await sql.query<AlertChange>(
      `insert into outbox.alert as a (rule, subject, labels, since, figure, text, next, news_at)
       select f.rule, f.subject, f.labels, outbox.clock() - coalesce(f."lastsMs", 0) * interval '1 ms', f.figure, f.text, f.next, outbox.clock()
       from jsonb_to_recordset($1::text::jsonb) as f (rule text, subject text, labels jsonb, figure float8, "lastsMs" float8, text text, next text)
       on conflict (rule, subject) do update set
         calm = 0, calm_since = null, figure = excluded.figure, text = excluded.text, next = excluded.next, over_at = null,
         since = case when a.over_at is null then a.since else excluded.since end,
         began_news = case when a.over_at is null then a.began_news else a.news + 1 end,
         told_at = case when a.over_at is null then a.told_at end,
         news = a.news + (a.over_at is not null or ${isOldNews})::integer,
         news_at = case when a.over_at is not null or ${isOldNews}
           then excluded.news_at else a.news_at end
       returning rule, subject, text, case when news = began_news and news_at = outbox.clock() then 'began' end as change`,
      [JSON.stringify(firing), againMs],
    );
    const ended = await sql.query<AlertChange>(
      `update outbox.alert set over_at = calm_since, news = news + 1, news_at = outbox.clock()
       where over_at is null and calm >= $1 returning rule, subject, text, 'ended' as change`,
      [calmReadings],
    );
    await sql.query(
      `with gone as (delete from outbox.alert a
       where a.over_at is not null
         and (greatest(a.over_at, (select until from outbox.alert_silence s where s.rule = a.rule))
             < outbox.clock() - $1::float8 * interval '1 ms'
           -- Nobody was told that it had begun, because its rule is silenced.
           or not exists (select from jsonb_each(a.told) t where t.value::bigint >= a.began_news)
             and not exists (
               select from outbox.alert_call c where c.rule = a.rule and c.subject = a.subject and c.news >= a.began_news)
             and ${isSilenced})
       returning a.rule, a.subject)
       delete from outbox.alert_call c using gone g where c.rule = g.rule and c.subject = g.subject`,
      [keptMs],
    );
    return [...began.filter(({ change }) => change === 'began'), ...ended];
  });
}

/** Whether the rule of the alert `a` tells nobody now. */
export const isSilenced =
  'exists (select from outbox.alert_silence s where s.rule = a.rule and s.until > outbox.clock())';

/** Whether the destination $1 knows that it has begun, for the last time. */
const known = `coalesce((a.told ->> $1)::bigint, 0) >= a.began_news`;

/** Something about an alert that a destination does not know yet. */
export interface AlertNews extends Omit<Firing, 'labels' | 'lastsMs'> {
  readonly since: Date;
  /** `null`: it goes on. */
  readonly overAt: Date | null;
  /** The destination has got the message that it has begun. */
  readonly known: boolean;
  /** Number of the news. */
  readonly news: string;
}

/** News in one message; more are in the next one. */
const mostNews = 50;
/** What has been over for so long is no news. */
export const unknownForMs = 3_600_000;

/** What a destination has not got yet, of rules that are not silenced. What was over for an hour is no news. */
export async function readNews(
  sql: Pick<Database, 'query'>,
  destination: string,
): Promise<readonly AlertNews[]> {
  return sql.query<AlertNews>(
    `select a.rule, a.subject, a.figure, a.text, a.next, a.since, a.over_at as "overAt", ${known} as known, a.news::text
     from outbox.alert a
     where coalesce((a.told ->> $1)::bigint, 0) < a.news
       and (${known} or a.over_at is null or a.over_at > outbox.clock() - ${unknownForMs} * interval '1 ms')
       and not ${isSilenced}
     order by a.over_at is not null, a.since, a.rule, a.subject limit $2`,
    [destination, mostNews],
  );
}

/** An alert, for operators. */
export interface ListedAlert {
  /** Name of its rule, as in the setting `alerts`. */
  readonly rule: string;
  /** What it is about, such as `topic orders`; empty: the whole installation. */
  readonly subject: string;
  /** In milliseconds, messages, or a share from 0 to 1, as its rule measures; the last one beyond the threshold. */
  readonly figure: number;
  /** The figure in a sentence. */
  readonly text: string;
  /** The command to run. */
  readonly next: string;
  /** Since when it fires, on the database's clock. */
  readonly since: Date;
  /** When it ended, within the last day; `null`: it fires. */
  readonly overAt: Date | null;
  /** When it was last sent to a destination; `null`: never. */
  readonly toldAt: Date | null;
}

/** Alerts that fire, the oldest first, then those that have ended within a day. */
export async function readAlerts(sql: Pick<Database, 'query'>): Promise<readonly ListedAlert[]> {
  return sql.query<ListedAlert>(
    `select rule, subject, figure, text, next, since, over_at as "overAt", told_at as "toldAt" from outbox.alert
     order by over_at desc nulls first, since, rule, subject limit 1000`,
  );
}
