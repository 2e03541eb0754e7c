import { defaultBatchLimits } from '../src/relay/timings.ts';
import { type Size, SizeCase } from './size-case.ts';
import type { Stage } from './workload.ts';

export interface SizeSizes {
  /** Ready messages of the cases that grow; the largest is also the number of rows in the log and in the history. */
  readonly backlogs: readonly number[];
  /** Batches of each case. */
  readonly rounds: number;
  /** Versions of the lane's row that a reader keeps: a batch leaves one. */
  readonly pinnedBatches: number;
}

/** Milliseconds of a claim and its settle: the lower quartile, because noise only adds. */
interface SizeTimes {
  /** Of a full batch. */
  readonly quietMs: number;
  /** The same while a reader needs old versions; nobody does in the first case, with which all are compared. */
  readonly pinnedMs: number;
  /** Of one message. */
  readonly oneMs: number;
}

/** The ratios are to the first case in the same minutes. */
export interface SizeRow extends Size, SizeTimes {
  readonly quietRatio: number;
  readonly pinnedRatio: number;
  readonly oneRatio: number;
}

type Tell = (line: string) => void;

const smallest = 10_000;
const warmUp = 20;
/** The second one is as many as a lane that does not move may keep live. */
const manyLeaves = [2, 8];

/**
 * What a claim and its settle cost at any backlog, in one leaf of the log and in several, behind published messages that are not
 * archived, beside a history, and while a reader keeps old versions.
 *
 * Each case is a database of its own. All take turns, so that whatever slows the machine slows all of them. The second case is
 * as small as the first: its ratio says what the others may mean.
 */
export async function measureSize(stage: Stage, sizes: SizeSizes, tell: Tell): Promise<readonly SizeRow[]> {
  const cases: SizeCase[] = [];
  try {
    for (const size of casesOf(sizes.backlogs)) {
      cases.push(await SizeCase.create(stage, size));
      tell(
        `${size.name}: ${size.backlog} ready in ${size.leaves} leaves, ${size.log} published, ${size.history} archived`,
      );
    }
    const measured = async (limit: number): Promise<readonly number[]> => {
      await inTurns(cases, warmUp, limit);
      return inTurns(cases, sizes.rounds, limit);
    };
    const one = await measured(1);
    const quiet = await measured(defaultBatchLimits.messages);
    await Promise.all(cases.slice(1).map((each) => each.pin(sizes.pinnedBatches)));
    tell(`a reader keeps ${sizes.pinnedBatches} versions`);
    const pinned = await measured(defaultBatchLimits.messages);
    const rows = rowsOf(
      cases.map(({ size }) => size),
      { quiet, pinned, one },
    );
    for (const { name, oneMs, oneRatio, pinnedMs, pinnedRatio, quietMs, quietRatio } of rows)
      tell(
        `claim and settle, ${name}: ${quietMs} ms (${quietRatio}), with a reader ${pinnedMs} ms (${pinnedRatio}), of one ${oneMs} ms (${oneRatio})`,
      );
    return rows;
  } finally {
    for (const one of cases) await one.drop(stage);
  }
}

function casesOf(backlogs: readonly number[]): readonly Size[] {
  const most = Math.max(...backlogs);
  const small = { backlog: smallest, leaves: 1, log: 0, history: 0 };
  return [
    { name: 'small', ...small },
    { name: 'again', ...small },
    ...backlogs.map((backlog) => ({ ...small, name: `backlog_${backlog}`, backlog })),
    ...manyLeaves.map((leaves) => ({ ...small, name: `leaves_${leaves}`, leaves })),
    { ...small, name: 'log', log: most },
    { ...small, name: 'history', history: most },
  ];
}

/** @returns milliseconds of a batch of each case */
async function inTurns(
  cases: readonly SizeCase[],
  rounds: number,
  limit: number,
): Promise<readonly number[]> {
  const ms: number[][] = cases.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, one] of cases.entries()) ms[index]?.push(await one.batch(limit));
  return ms.map(lowerQuartile);
}

/** @param times milliseconds of each size */
export function rowsOf(
  sizes: readonly Size[],
  { one, pinned, quiet }: Readonly<Record<'quiet' | 'pinned' | 'one', readonly number[]>>,
): readonly SizeRow[] {
  const at = (values: readonly number[], index: number): number => values[index] ?? Number.NaN;
  const ratio = (values: readonly number[], index: number): number =>
    Math.round((100 * at(values, index)) / at(values, 0)) / 100;
  return sizes.map((size, index) => ({
    ...size,
    quietMs: at(quiet, index),
    pinnedMs: at(pinned, index),
    quietRatio: ratio(quiet, index),
    pinnedRatio: ratio(pinned, index),
    oneMs: at(one, index),
    oneRatio: ratio(one, index),
  }));
}

export function lowerQuartile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(1_000 * (sorted[Math.floor(sorted.length / 4)] ?? Number.NaN)) / 1_000;
}
