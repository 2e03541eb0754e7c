import { type Lane, laneName } from '../core/lane.ts';

/** Searches after which every lane has been searched anew, whatever looks have reported: a minute, at one a second. */
const searchesPerTurn = 60;

/** A search for lanes, while it runs. */
export interface RunningSearch {
  /** The lanes that it may leave out. */
  readonly quiet: readonly Lane[];
  /** Notes the lanes that it has found quiet. */
  ended(found: readonly Lane[]): void;
}

/**
 * The lanes of which this process knows that they have no work: a search has found none, and neither looks nor sweeps have reported
 * news of them since. Looks report every message that is stored as ready, and sweeps those that they release.
 *
 * A message that a search could not see is reported after the search has begun. So news that comes while a search runs counts against
 * what that search finds.
 */
export class QuietLanes {
  /** By name; those that were searched longest ago come first. */
  readonly #known = new Map<string, Lane>();
  /** The names of lanes with news since the running search began, or all lanes. */
  #told: Set<string> | 'all' = new Set();

  /** One search at a time. */
  begin(): RunningSearch {
    const told = new Set<string>();
    this.#told = told;
    const due = Math.ceil(this.#known.size / searchesPerTurn);
    for (const name of [...this.#known.keys()].slice(0, due)) this.#known.delete(name);
    return { quiet: [...this.#known.values()], ended: (found) => this.#ended(found) };
  }

  #ended(found: readonly Lane[]): void {
    const told = this.#told;
    if (told === 'all') return;
    for (const lane of found) {
      const name = laneName(lane);
      // A lane that is searched although it is known belongs to the end.
      this.#known.delete(name);
      if (!told.has(name)) this.#known.set(name, lane);
    }
  }

  /** A look or a sweep has reported news of these lanes. */
  heard(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      const name = laneName(lane);
      this.#known.delete(name);
      if (this.#told !== 'all') this.#told.add(name);
    }
  }

  /** A look was missed, and with it perhaps news of any lane. */
  forget(): void {
    this.#known.clear();
    this.#told = 'all';
  }
}
