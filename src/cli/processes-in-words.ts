import { age } from './age.ts';
import { clip } from './printable.ts';

/** A process that has recorded in the database that it runs. */
interface Seen {
  readonly host: string;
  readonly pid: number;
  readonly seenMs: number;
  readonly alive: boolean;
}

/** The first three that run, and the number of the others. */
export function runningInWords(living: readonly Seen[]): string {
  const names = living.slice(0, 3).map(processName);
  const more = living.length > 3 ? `, and ${living.length - 3} more` : '';
  return `${living.length} running: ${names.join(', ')}${more}`;
}

/**
 * One line for all processes that are gone, however many.
 *
 * @param what name of one of them: `relay`
 * @returns `undefined`: none is
 */
export function goneInWords(what: string, all: readonly Seen[]): string | undefined {
  const gone = all.filter(({ alive }) => !alive).toSorted((one, other) => one.seenMs - other.seenMs);
  const [last] = gone;
  if (last === undefined) return undefined;
  const since = age(last.seenMs);
  return gone.length === 1
    ? `1 ${what} is gone, not seen for ${since}: ${processName(last)}`
    : `${gone.length} ${what}s are gone, the last one not seen for ${since}: ${processName(last)}`;
}

function processName({ host, pid }: Pick<Seen, 'host' | 'pid'>): string {
  return `${clip(host, 24)} (pid ${pid})`;
}
