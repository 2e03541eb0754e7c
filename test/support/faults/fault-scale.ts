/**
 * Scale of the fault tests. Without these variables they are short enough for every run:
 *
 * - `FAULT_SEEDS=7,8,9`: the seeds of every seeded test, in place of its own.
 * - `FAULT_ROUNDS=5`: five times as many kills, restarts or lost replies.
 * - `FAULT_MINUTES=10`: how long all faults happen together.
 */
const seedsGiven = process.env['FAULT_SEEDS'] ?? '';
const factor = Number(process.env['FAULT_ROUNDS'] ?? 1);
/** How long all faults are combined, in minutes. */
export const faultMinutes = Number(process.env['FAULT_MINUTES'] ?? 0.5);

/** The seeds of a test: one run for each. */
export function faultSeeds(...usual: readonly number[]): readonly number[] {
  return seedsGiven === '' ? usual : seedsGiven.split(',').map(Number);
}

/** How often a test injects its fault. */
export function faultRounds(usual: number): number {
  return Math.max(1, Math.round(usual * factor));
}

/** The timeout of a test whose length follows {@link faultRounds}, in milliseconds. */
export function faultTimeoutMs(usualMs: number): number {
  return usualMs * Math.max(1, factor);
}
