import type { Lane } from '../core/lane.ts';
import { shared } from '../core/shared.ts';
import type { State } from '../core/transitions.ts';

/** By transaction: workflow ids of the lanes with a message of it that can be delivered after the commit. */
const readyLanes = shared('ready-lanes', () => new WeakMap<object, Set<string>>());

/** Records the lanes of messages that a transaction has stored. */
export function noteReady(
  tx: object,
  stored: readonly { readonly workflowId: string; readonly state: State }[],
): void {
  const lanes = readyLanes.get(tx) ?? new Set();
  for (const { workflowId, state } of stored) if (state === 'ready') lanes.add(workflowId);
  if (lanes.size > 0) readyLanes.set(tx, lanes);
}

/** The lanes of the messages that were sent through this transaction object. */
export function lanesFilledBy(tx: unknown): readonly Lane[] {
  const ids = typeof tx === 'object' && tx !== null ? readyLanes.get(tx) : undefined;
  return [...(ids ?? [])].flatMap((id) => {
    const [, topic, lane] = /^[^/]+\/lane\/([^/]+)\/(\d+)$/.exec(id) ?? [];
    return topic === undefined ? [] : [{ topic, lane: Number(lane) }];
  });
}
