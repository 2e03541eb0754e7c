import type { SeenConsumer, Status } from '../operations/delivery/status.ts';
import { age } from './age.ts';
import { printable } from './printable.ts';
import { goneInWords } from './processes-in-words.ts';
import { table } from './table.ts';

const heading = ['RUNNING CONSUMER', 'HOST', 'PID', 'VERSION', 'SEEN', 'PARTITIONS'];

/** The consumers that run, and one line for all that are gone. */
export function consumerTable(consumers: readonly SeenConsumer[]): string {
  const living = consumers.filter(({ alive }) => alive);
  const rows = living.map(({ group, host, pid, version, seenMs, partitions }) => [
    group,
    host,
    String(pid),
    version,
    age(seenMs),
    partitions.map(({ address, partitions: owned }) => `${address} ${ranges(owned)}`).join(', ') || 'none',
  ]);
  const gone = goneInWords('consumer', consumers);
  return [...(rows.length === 0 ? [] : [table(heading, rows)]), ...(gone === undefined ? [] : [gone])].join(
    '\n',
  );
}

/** One line for each group for which messages wait, and nobody reads. */
export function unattendedLines({
  consumers,
  groups,
  lags,
}: Pick<Status, 'consumers' | 'groups' | 'lags'>): readonly string[] {
  return groups.flatMap(({ group, parked, seenMs }) => {
    if (consumers.some((one) => one.group === group && one.alive)) return [];
    const unread = lags.filter((lag) => lag.group === group).reduce((sum, { messages }) => sum + messages, 0);
    if (unread + parked === 0) return [];
    const since = seenMs === null ? '' : `, for ${age(seenMs)}`;
    return [
      `No consumer of ${printable(group)} runs${since}: ${unread} messages wait unread, ${parked} parked.`,
    ];
  });
}

/** `0-2,5`, of ascending numbers. */
function ranges(numbers: readonly number[]): string {
  const runs: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last?.to === number - 1) last.to = number;
    else runs.push({ from: number, to: number });
  }
  return runs.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}
