import { drain, drainTogether, type Entry, type Servers } from './contenders/arena.ts';
import type { Setting } from './contenders/protocol.ts';

/** What grows from row to row. */
export const growing = ['payload bytes', 'lanes', 'topics', 'backlog', 'processes'] as const;
export type Growing = (typeof growing)[number];

/** A drain of ours at one size of what grows. */
export interface GrowthRow {
  readonly of: Growing;
  readonly at: number;
  readonly messages: number;
  readonly perSecond: number;
  readonly megabytesPerSecond: number;
  readonly nodeUsPerMessage: number;
}

export interface GrowthSizes {
  readonly bytes: readonly number[];
  readonly lanes: readonly number[];
  readonly topics: readonly number[];
  readonly backlogs: readonly number[];
  /** Messages of a drain; of large ones as many as `megabytes` hold. */
  readonly messages: number;
  readonly megabytes: number;
}

type Tell = (line: string) => void;

const usualBytes = 250;

/** How the rate of a relay changes with payloads, lanes, topics and backlog, and with a second process, one after the other. */
export async function measureGrowth(
  servers: Servers,
  node: string,
  sizes: GrowthSizes,
  tell: Tell,
): Promise<readonly GrowthRow[]> {
  const rows: GrowthRow[] = [];
  const measure = async (of: Growing, at: number, setting: Setting, messages: number): Promise<void> => {
    const entry: Entry = { name: 'ours', node, setting };
    const figures =
      of === 'processes'
        ? await drainTogether(servers, entry, at, messages)
        : await drain(servers, entry, messages);
    const bytes = Number(setting['bytes'] ?? usualBytes);
    const { nodeUsPerMessage, perSecond } = figures;
    const megabytesPerSecond = Math.round((perSecond * bytes) / 100_000) / 10;
    rows.push({ of, at, messages, perSecond, megabytesPerSecond, nodeUsPerMessage });
    tell(`${of} ${at}: ${perSecond}/s, ${megabytesPerSecond} MB/s, ${nodeUsPerMessage} µs of node a message`);
  };
  for (const bytes of sizes.bytes) {
    const most = Math.floor((sizes.megabytes * 1_000_000) / bytes);
    await measure('payload bytes', bytes, { lanes: 2, bytes }, Math.min(sizes.messages, most));
  }
  for (const lanes of sizes.lanes) await measure('lanes', lanes, { lanes }, sizes.messages);
  for (const topics of sizes.topics) await measure('topics', topics, { lanes: 1, topics }, sizes.messages);
  for (const backlog of sizes.backlogs) await measure('backlog', backlog, { lanes: 2 }, backlog);
  for (const processes of [1, 2]) await measure('processes', processes, { lanes: 1 }, sizes.messages);
  return rows;
}
