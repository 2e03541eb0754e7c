import type { Database } from '../../src/store/database/database.ts';
import type { Standing } from '../../src/store/installation/standing-groups.ts';
import { until } from '../support/fixtures/until.ts';

/** Waits until a group has stood for so long in partition 0, elsewhere than before. @returns where */
export async function untilStands(
  database: Database,
  group: string,
  leastMs: number,
  before?: Standing,
): Promise<Standing> {
  let found: Standing | undefined;
  await until(async () => {
    const rows = await database.query<{ places: Readonly<Record<string, Standing>> }>(
      'select places from outbox.group_place where consumer_group = $1',
      [group],
    );
    found = Object.values(rows[0]?.places ?? {})[0];
    return found !== undefined && found.at !== before?.at && found.standsMs >= leastMs;
  }, 60_000);
  if (found === undefined) throw new Error('It does not stand.');
  return found;
}
