import { type AcquiredLane, markSuspect } from '../store/lane/lease.ts';
import type { LaneTurn } from './lane-turn.ts';

/**
 * What the previous owner of a lane may have published without settling, if it died: at most what is visible now, so a snapshot says it.
 * The lane's row records that before anything is claimed, because this owner may die, too, before it has settled.
 */
export class LaneSuspect {
  readonly #turn: Pick<LaneTurn, 'input' | 'lease'>;
  #snapshot: string | null;
  #isMarked: boolean;

  constructor(turn: Pick<LaneTurn, 'input' | 'lease'>, { lapsed, suspect }: AcquiredLane) {
    this.#turn = turn;
    this.#snapshot = suspect;
    this.#isMarked = !lapsed;
  }

  /** `null`: there is nothing that it may have published. */
  get snapshot(): string | null {
    return this.#snapshot;
  }

  /** False: the lane's row does not record it yet, and nothing may be sent. */
  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** Records it, unless that was done or the lane has another owner. */
  async mark(): Promise<void> {
    if (this.#isMarked) return;
    const { input, lease } = this.#turn;
    const snapshot = await markSuspect(input.database, input.lane, lease.owner);
    if (snapshot === undefined) return;
    this.#snapshot = snapshot;
    this.#isMarked = true;
  }
}
