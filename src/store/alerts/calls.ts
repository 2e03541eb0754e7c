import type { Database, Sql } from '../database/database.ts';
import { isSilenced, unknownForMs } from './alerts.ts';

/** An alert for which `onAlert` is to be called. */
export interface UncalledAlert {
  readonly rule: string;
  readonly subject: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly figure: number;
  readonly text: string;
  readonly next: string;
  readonly since: Date;
  /** `null`: it goes on. */
  readonly overAt: Date | null;
  /** Number of the news. */
  readonly news: string;
}

/** Alerts in one round; more are in the next one. */
const mostCalls = 50;
/** The number of the news that the last call was for. */
const called = 'coalesce(c.news, 0)';

/** Alerts that have begun or ended since `onAlert` was called for them, of rules that are not silenced. */
export async function readUncalled(sql: Pick<Database, 'query'>): Promise<readonly UncalledAlert[]> {
  return sql.query<UncalledAlert>(
    `select a.rule, a.subject, a.labels, a.figure, a.text, a.next, a.since, a.over_at as "overAt", a.news::text
     from outbox.alert a left join outbox.alert_call c using (rule, subject)
     where case when a.over_at is null then ${called} < a.began_news
         else ${called} < a.news
           and (${called} >= a.began_news or a.over_at > outbox.clock() - ${unknownForMs} * interval '1 ms') end
       and not ${isSilenced}
     order by a.over_at is not null, a.since, a.rule, a.subject limit $1`,
    [mostCalls],
  );
}

/**
 * Notes, in the transaction of the call, that it is made. Until it ends, the alert is not forgotten.
 *
 * @returns false: another relay has made it, or the alert is forgotten
 */
export async function noteCall(sql: Sql, { news, rule, subject }: UncalledAlert): Promise<boolean> {
  const noted = await sql.query(
    `insert into outbox.alert_call as c (rule, subject, news)
     select a.rule, a.subject, $3::bigint from outbox.alert a where a.rule = $1 and a.subject = $2 for key share
     on conflict (rule, subject) do update set news = excluded.news where c.news < excluded.news returning news`,
    [rule, subject, news],
  );
  return noted.length > 0;
}
