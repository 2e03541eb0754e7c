import type { Status } from '../../operations/delivery/status.ts';
import type { Scope } from '../scope.ts';

/**
 * The status as a caller may see it. Figures of groups and relays are of all topics, so a caller that is limited gets none of
 * them, and no count of what it does not see.
 */
export function statusSeenBy(scope: Scope, status: Status): Status {
  if (!scope.limited) return status;
  const lanes = status.lanes.filter(({ topic }) => scope.sees(topic));
  const ages = lanes.flatMap(({ oldestDueMs }) => (oldestDueMs === null ? [] : [oldestDueMs]));
  return {
    oldestDueMs: ages.length === 0 ? null : Math.max(...ages),
    lanes,
    topics: status.topics.filter(({ name }) => scope.sees(name)),
    lags: status.lags.filter(({ topic }) => scope.sees(topic)),
    relays: [],
    servers: [],
    laneLocks: [],
    settings: [],
    reconciliation: null,
    twin: null,
    groups: [],
    consumers: [],
    breakers: [],
  };
}
