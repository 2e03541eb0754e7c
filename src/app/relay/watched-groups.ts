import { type Config, transportOf } from '../../config/config.ts';
import { GroupLooks, type WatchedTransport } from '../../relay/group-looks.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { Database } from '../../store/database/database.ts';
import { readGroupNames } from '../../store/installation/relays.ts';
import type { SettledAlerts } from '../../watch/settings.ts';

export interface WatchedGroupsInput {
  readonly database: Database;
  readonly report: RelayReport;
}

/** What watches the groups of a configuration with alerts; `undefined` if nobody is to be told of those that stand. */
export function groupLooksOf(
  config: Config,
  { groups = [], stalledGroup }: Pick<SettledAlerts, 'groups' | 'stalledGroup'>,
  { database, report }: WatchedGroupsInput,
): GroupLooks | undefined {
  if (stalledGroup === false) return undefined;
  return new GroupLooks({
    database,
    transports: watchedTransports(config),
    groups: async () => [...groups, ...(await readGroupNames(database))],
    afterMs: stalledGroup,
    report,
  });
}

/** The transports that know how far groups are, with the addresses that are used there. */
function watchedTransports(config: Config): readonly WatchedTransport[] {
  return Object.entries(config.transports).flatMap(([name, transport]) => {
    const { offsets, topics } = transport;
    if (offsets === undefined) return [];
    const addresses = new Map<string, { expected: string[] }>();
    for (const topic of config.topics) {
      if (transportOf(config, topic).transport !== transport) continue;
      const { address, confirm } = topic.rules;
      const watched = addresses.get(address) ?? { expected: [] };
      if (confirm !== undefined) watched.expected.push(confirm.group);
      addresses.set(address, watched);
    }
    return addresses.size === 0 ? [] : [{ name, offsets, addresses, ...(topics && { topics }) }];
  });
}
