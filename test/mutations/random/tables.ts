import { dirname } from 'node:path';
import type { Tried } from './try-mutants.ts';

/** A line about one mutant while the others are still to come. */
export function told({ kind, path, line, operator, seconds, said }: Tried): string {
  return `${kind.padEnd(9)} ${`${path}:${line}`.padEnd(52)} ${operator.padEnd(22)} ${seconds.toFixed(1).padStart(6)} s\n          ${said.slice(0, 100)}`;
}

/** How many were caught in each folder, and a diff of each that was not. */
export function reportOf(tried: readonly Tried[], seed: string): string {
  const folders = new Map<string, Tried[]>();
  for (const one of tried) folders.set(dirname(one.path), [...(folders.get(dirname(one.path)) ?? []), one]);
  const rows = [...folders]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([folder, several]) => `${folder.padEnd(34)} ${rateOf(several)}`);
  const left = tried.filter(
    ({ kind }) => kind === 'survived' || kind === 'uncovered' || kind === 'timed out',
  );
  return [`\nseed ${seed}`, ...rows, `${'all'.padEnd(34)} ${rateOf(tried)}`, ...left.map(diffOf)].join('\n');
}

/** Of those that had to be caught. */
function rateOf(several: readonly Tried[]): string {
  const of = (kind: Tried['kind']): number => several.filter((one) => one.kind === kind).length;
  const due = several.length - of('accepted');
  const rate = due === 0 ? '' : `${Math.round((100 * of('caught')) / due)} %`;
  return (
    `${rate.padStart(5)}: ${of('caught')} of ${due} caught, ${of('timed out')} only out of time, ` +
    `${of('survived')} survived, ${of('uncovered')} not executed, ${of('accepted')} accepted`
  );
}

function diffOf({ kind, path, line, operator, before, after, tests, of }: Tried): string {
  const indented = (sign: string, text: string): string => text.replaceAll(/^ */gm, `    ${sign} `);
  return [
    `\n  ${kind.toUpperCase()} ${path}:${line} (${operator}), ${tests.length} of ${of} test files`,
    indented('-', before),
    indented('+', after),
  ].join('\n');
}
