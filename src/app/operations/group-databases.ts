import { databaseOf } from '../../config/database-config.ts';
import type { GroupConfig } from '../../config/groups-config.ts';
import { addressOfDatabase } from '../../core/database-address.ts';
import type { OtherGroup } from '../../operations/timeline/group-sides.ts';
import type { Sql } from '../../store/database/database.ts';
import { openDatabase } from '../../store/database/pool.ts';
import { named } from '../../store/database/visit.ts';

/** A statement that takes longer is given up, and with it what is shown of the group. */
const limits = { statementMs: 2_500, lockMs: 2_500 };

/** The groups of the configuration, each of which is connected to while it is read. */
export function otherGroups(
  groups: Readonly<Record<string, GroupConfig>> = {},
  seen: (sql: Sql) => Sql,
): readonly OtherGroup[] {
  return Object.entries(groups).map(([group, { database }]) => ({
    group,
    async read(work) {
      const at = databaseOf(database);
      const opened = openDatabase({ ...at, connections: 1, ownNames: true, limits });
      const { address, database: name } = addressOfDatabase(at.url);
      try {
        return await named(at.url, () => work(seen(opened), `${address}, ${name}`));
      } finally {
        // Not awaited: a server that is gone never answers the end of a connection.
        void opened.close().catch(() => undefined);
      }
    },
  }));
}
