import type { BreakerStatus } from '../operations/delivery/status.ts';
import { age } from './age.ts';
import { clip, screenColumns } from './printable.ts';
import { table } from './table.ts';

const heading = ['BREAKER OF', 'ADDRESS', 'SINCE', 'FAILED KEYS', 'FAILED PROBES', 'NEXT PROBE'];

/** The pauses of one group and address, by all consumers that pause it, longest pause first. */
interface Pause {
  readonly first: BreakerStatus;
  readonly all: readonly BreakerStatus[];
}

/** Paused addresses, a row per consumer group and address, with the consumers and the last error below. */
export function breakerTable(breakers: readonly BreakerStatus[]): string {
  const pauses = pausesOf(breakers);
  const rows = pauses.map(({ first, all }) => [
    first.group,
    first.address,
    age(first.pausedMs),
    `${sum(all, ({ failedKeys }) => failedKeys)} of ${sum(all, ({ keys }) => keys)}`,
    String(sum(all, ({ probes }) => probes)),
    nextProbe(Math.min(...all.map(({ nextProbeInMs }) => nextProbeInMs))),
  ]);
  const [head = '', ...lines] = table(heading, rows).split('\n');
  return [
    head,
    ...pauses.flatMap((pause, n) => [lines[n] ?? '', below(pause)]),
    'A pause ends by itself, when a probe of one message succeeds.',
  ].join('\n');
}

function pausesOf(breakers: readonly BreakerStatus[]): readonly Pause[] {
  const pauses = new Map<string, Pause>();
  for (const breaker of breakers) {
    const name = JSON.stringify([breaker.group, breaker.address]);
    const { first, all } = pauses.get(name) ?? { first: breaker, all: [] };
    pauses.set(name, { first, all: [...all, breaker] });
  }
  return [...pauses.values()];
}

function below({ first: { error, host, pid }, all }: Pause): string {
  const more = all.length > 1 ? ` and ${all.length - 1} more` : '';
  return clip(`  ${clip(host, 24)} (pid ${pid})${more}: ${error}`, screenColumns());
}

function nextProbe(inMs: number): string {
  return inMs === 0 ? 'now' : `in ${age(inMs)}`;
}

function sum(all: readonly BreakerStatus[], of: (one: BreakerStatus) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
