/** The first and the longest of pauses that double. */
export interface Pauses {
  readonly first: number;
  readonly most: number;
}

/**
 * How long to wait after a failure: twice as long as after the one before, up to the longest pause.
 *
 * @param failures how many there have been in a row, including the latest; below 1 it counts as the first
 */
export function pauseAfter(failures: number, { first, most }: Pauses): number {
  return Math.min(first * 2 ** Math.max(0, failures - 1), most);
}
