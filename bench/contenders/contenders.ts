import { join, resolve } from 'node:path';
import type { Setting } from './protocol.ts';

/** The ways from where messages are stored to Kafka that are compared. */
export const contenderNames = ['ours', 'bare', 'loop', 'pgBoss', 'graphileWorker', 'bullmq'] as const;
export type ContenderName = (typeof contenderNames)[number];

/** How a contender is run. */
export interface ContenderRules {
  readonly label: string;
  /** A peer is in `bench/peers`. */
  readonly peer: boolean;
  /** The best that is known, first; then the others that the full run tries. Each contender explains its settings. */
  readonly settings: readonly Setting[];
  /**
   * Settings with which the program around the library gathers the sends of jobs, for libraries that give a handler one job: a
   * row of its own, because the library does not do it.
   */
  readonly gathered?: readonly Setting[];
  /** The best for few messages. @defaultValue the first of `settings` */
  readonly few?: Setting;
}

const platformatic = { client: 'platformatic' };

export const contenders: Readonly<Record<ContenderName, ContenderRules>> = {
  ours: {
    label: 'temporal-outbox',
    peer: false,
    settings: [{ lanes: 2 }, { lanes: 1 }, { lanes: 4 }],
    few: { lanes: 1 },
  },
  bare: { label: 'its functions in a bare loop', peer: false, settings: [{ lanes: 2 }] },
  loop: { label: 'scan 100, send one, update one', peer: true, settings: [{}, platformatic] },
  pgBoss: {
    label: 'pg-boss',
    peer: true,
    settings: [
      { batch: 5_000, workers: 4 },
      { batch: 10_000, workers: 2 },
      { batch: 2_500, workers: 8 },
      { batch: 5_000, workers: 4, ...platformatic },
    ],
  },
  graphileWorker: {
    label: 'graphile-worker',
    peer: true,
    settings: [
      { concurrency: 50 },
      { concurrency: 10 },
      { concurrency: 200 },
      { concurrency: 50, ...platformatic },
    ],
    gathered: [
      { concurrency: 200, gather: 1 },
      { concurrency: 1_000, localQueue: 2_000, gather: 1 },
      { concurrency: 200, gather: 1, ...platformatic },
    ],
  },
  bullmq: {
    label: 'BullMQ',
    peer: true,
    settings: [
      { concurrency: 200 },
      { concurrency: 50 },
      { concurrency: 1_000 },
      { concurrency: 200, ...platformatic },
    ],
    gathered: [
      { concurrency: 500, gather: 1 },
      { concurrency: 2_000, gather: 1 },
      { concurrency: 500, gather: 1, ...platformatic },
    ],
  },
};

/** What is swept together, and gives one row: the best of it. */
export interface Variant {
  readonly name: ContenderName;
  readonly label: string;
  readonly settings: readonly Setting[];
}

/** Every contender; those that can gather, twice. */
export const variants: readonly Variant[] = contenderNames.flatMap((name) => {
  const { gathered, label, settings } = contenders[name];
  return [
    { name, label, settings },
    ...(gathered === undefined
      ? []
      : [{ name, label: `${label}, sends gathered by hand`, settings: gathered }]),
  ];
});

/** The repository, from the built file. */
export const root = resolve(import.meta.dirname, '..', '..', '..');

/** The file of a contender, and its arguments. Peers run from their sources, which newer Nodes can. */
export function programOf(name: ContenderName): readonly string[] {
  return contenders[name].peer
    ? [join(root, 'bench', 'peers', 'main.ts'), name]
    : [join(import.meta.dirname, 'ours-main.js'), name];
}
