import { chosenId, ownId } from '../../core/chosen-id.ts';
import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** The first offset of a partition that a group has not committed. */
export interface GroupPlace {
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
}

/** Which ids the inbox of the group knows. */
export interface KnownIds {
  /** Those of the ids that it has processed, or keeps. */
  readonly of: (ids: readonly string[]) => Promise<readonly string[]>;
  /** How long it keeps processed ids, in milliseconds; `null`: forever. */
  readonly windowMs: number | null;
}

const pageIds = 10_000;

/**
 * I4: what a group's offset has passed was handled by it, or is kept. A broker does not deliver it again, so after a restore or a failover
 * of the group's database nobody else would notice that its effect is missing.
 *
 * Of each topic, records are judged that are newer by `graceMs` than the oldest one that the inbox knows: earlier the group did not
 * receive, or has forgotten the ids. To be called after the records were laid, with places that were read before.
 */
export async function verifyPassed(
  sql: Sql,
  places: readonly GroupPlace[],
  known: KnownIds,
  graceMs: number,
): Promise<Finding> {
  await sql.query(
    `create temporary table verify_passed on commit drop as
     select distinct on (r.id) r.id, r.type, r.key, r.at, false as handled from verify_record r
     join unnest($1::text[], $2::integer[], $3::bigint[]) as p(address, partition, place)
       on p.address = r.address and p.partition = r.partition and r."offset" < p.place
     where r.ours and r.id is not null and r.at < outbox.clock() - $4::float8 * interval '1 ms'
     order by r.id, r.at`,
    [
      places.map(({ address }) => address),
      places.map(({ partition }) => partition),
      places.map(({ offset }) => offset),
      graceMs,
    ],
  );
  await sql.query('create index on verify_passed (id)');
  await sql.query('analyze verify_passed');
  await markHandled(sql, known);
  const judged = `p.at > f.at + $1::float8 * interval '1 ms'
    and p.at >= coalesce(outbox.clock() - $2::float8 * interval '1 ms', '-infinity')`;
  const from = `from verify_passed p left join (select type, min(at) as at from verify_passed where handled group by type) f
    on f.type = p.type where not p.handled`;
  const values = [graceMs, known.windowMs];
  const found = await findViolations(
    sql,
    `select 'The group has passed it, and neither handled nor kept it.' as what, p.type as topic, p.id, p.key ${from} and ${judged}`,
    values,
  );
  const checked = await countRows(sql, 'select count(*)::integer as count from verify_passed');
  const notJudged = await countRows(
    sql,
    `select count(*)::integer as count ${from} and (${judged}) is not true`,
    values,
  );
  return { checked, ...found, notes: { notJudged } };
}

/** In pages, because the inbox may be in another database. */
async function markHandled(sql: Sql, known: KnownIds): Promise<void> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = await sql.query<{ id: string }>(
      'select id::text as id from verify_passed where id > $1::uuid order by verify_passed.id limit $2',
      [after, pageIds],
    );
    const handled = await known.of(page.map(({ id }) => id));
    await sql.query('update verify_passed set handled = true where id = any($1::uuid[])', [[...handled]]);
    const last = page.at(-1);
    if (last === undefined || page.length < pageIds) return;
    after = last.id;
  }
}

/** What the inbox of a group knows of the messages of an installation, in the group's database. */
export async function knownIds(inbox: Sql, group: string, installation: string): Promise<KnownIds> {
  const [row] = await inbox.query<{ windowMs: number | null }>(
    'select window_ms::float8 as "windowMs" from outbox.consumer_group where consumer_group = $1',
    [group],
  );
  return {
    windowMs: row?.windowMs ?? null,
    async of(ids) {
      const rows = await inbox.query<{ id: string }>(
        `select i.id from unnest($2::text[]) as i(id)
         where exists (select from outbox.processed p where p.consumer_group = $1 and p.message_id = i.id)
           or exists (select from outbox.parked k where k.consumer_group = $1 and k.message_id = i.id)`,
        [group, ids.flatMap((id) => [id, chosenId(installation, id)])],
      );
      return rows.map(({ id }) => ownId(id));
    },
  };
}
