import { type Config, transportOf } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import { stalledOptions } from '../../config/stalled-settings.ts';
import type { RelayReport } from '../../relay/report.ts';
import { StalledGroups, type WatchedTransport } from '../../relay/stalled-groups.ts';
import type { Database } from '../../store/database/database.ts';
import { readGroupNames } from '../../store/installation/relays.ts';

/** What watches the groups of a configuration; `undefined` if it asks for nothing of the kind. */
export function stalledGroupsOf(
  config: Config,
  { database, report }: { readonly database: Database; readonly report: RelayReport },
): StalledGroups | undefined {
  const { alerts, onStalled, stalled } = config;
  if (stalled === undefined && onStalled === undefined && alerts === undefined) return undefined;
  const { after, groups = [] } = readConfig(stalledOptions, stalled ?? {}, 'stalled');
  return new StalledGroups({
    database,
    transports: watchedTransports(config),
    groups: async () => [...groups, ...(await readGroupNames(database))],
    afterMs: after,
    onStalled,
    report,
  });
}

/** The transports that know how far groups are, with the addresses that are used there. */
function watchedTransports(config: Config): readonly WatchedTransport[] {
  return Object.entries(config.transports).flatMap(([name, transport]) => {
    const { offsets, topics } = transport;
    if (offsets === undefined) return [];
    const addresses = new Map<string, { topic: string; expected: string[] }>();
    for (const topic of config.topics) {
      if (transportOf(config, topic).transport !== transport) continue;
      const { address, confirm } = topic.rules;
      const watched = addresses.get(address) ?? { topic: topic.name, expected: [] };
      if (confirm !== undefined) watched.expected.push(confirm.group);
      addresses.set(address, watched);
    }
    return addresses.size === 0 ? [] : [{ name, offsets, addresses, ...(topics && { topics }) }];
  });
}
