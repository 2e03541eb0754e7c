import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';

/** A silenced rule. */
export interface AlertSilence {
  /** Name of the rule. */
  readonly rule: string;
  /** On the database's clock. */
  readonly until: Date;
  /** Who silenced it. */
  readonly actor: string;
  /** Why; `null`: that was not said. */
  readonly reason: string | null;
}

/**
 * Silences a rule, or ends its silence, with an audit entry.
 *
 * @param forMs 0: the silence ends now
 * @returns until when; `null`: it is not silenced
 */
export async function silenceRule(
  database: Database,
  rule: string,
  forMs: number,
  author: Author,
  rehearsal: boolean,
): Promise<Date | null> {
  return transactOrRehearse(database, rehearsal, async (sql) => {
    await sql.query('delete from outbox.alert_silence where rule = $1 or until <= outbox.clock()', [rule]);
    const [silence] =
      forMs === 0
        ? []
        : await sql.query<{ until: Date }>(
            `insert into outbox.alert_silence (rule, until, actor, reason)
             values ($1, outbox.clock() + $2::float8 * interval '1 ms', $3, $4)
             on conflict (rule) do update set until = excluded.until, actor = excluded.actor, reason = excluded.reason returning until`,
            [rule, forMs, author.actor, author.reason ?? null],
          );
    await writeAudit(sql, [
      {
        ...author,
        action: 'silence-alert',
        messageId: null,
        result: 'done',
        details: { rule, until: silence?.until.toISOString() ?? null },
      },
    ]);
    return silence?.until ?? null;
  });
}

/** The rules that are silenced now, by name. */
export async function readSilences(sql: Sql): Promise<readonly AlertSilence[]> {
  return sql.query<AlertSilence>(
    'select rule, until, actor, reason from outbox.alert_silence where until > outbox.clock() order by rule',
  );
}

/** For how many milliseconds a rule is still silenced; 0: it is not. */
export async function silenceLeft(sql: Pick<Sql, 'query'>, rule: string): Promise<number> {
  const [row] = await sql.query<{ leftMs: number }>(
    `select extract(epoch from until - outbox.clock())::float8 * 1000 as "leftMs" from outbox.alert_silence
     where rule = $1 and until > outbox.clock()`,
    [rule],
  );
  return row?.leftMs ?? 0;
}
