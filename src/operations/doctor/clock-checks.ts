import { type DoctorCheck, fine, warning } from '../../core/diagnosis.ts';

/** How far the clock of a server is ahead of this machine's. */
export interface ClockFacts {
  /** Milliseconds, negative if it is behind. */
  readonly aheadMs: number;
  /** The true value differs by this much at most. */
  readonly uncertainMs: number;
}

/** Times that people and other machines give are off by no more than this unnoticed. */
const tolerableMs = 1_000;

/** The clock of the database, by which messages are due. */
export const clockChecks: readonly DoctorCheck<ClockFacts>[] = [
  {
    check: 'database clock',
    judge({ aheadMs, uncertainMs }) {
      const certainMs = Math.abs(aheadMs) - uncertainMs;
      if (certainMs <= tolerableMs)
        return fine(
          `It is within ${Math.max(1, Math.round(Math.abs(aheadMs) + uncertainMs))} ms of this machine's.`,
        );
      const by = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
      return warning(
        `The database's clock is ${by} this machine's. Messages are due by the database's; a time that this machine computes is off by that, and Kafka may refuse its records.`,
        'Synchronise both clocks by NTP: chronyc tracking',
      );
    },
  },
];

/** Between clocks, from samples of `[before, there, after]`: the one with the shortest way there and back counts. */
export function clockOf(
  samples: readonly (readonly [before: number, there: number, after: number])[],
): ClockFacts {
  const [best] = samples.toSorted((a, b) => a[2] - a[0] - (b[2] - b[0]));
  if (best === undefined) throw new Error('A clock needs a sample.');
  const [before, there, after] = best;
  return { aheadMs: there - (before + after) / 2, uncertainMs: (after - before) / 2 };
}
