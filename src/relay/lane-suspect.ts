import { type AcquiredLane, markSuspect } from '../store/lane/lease.ts';
import type { LaneTurn } from './lane-turn.ts';

/**
 * The position up to which the previous owner may have published without settling, if it died: at most what is visible now. It is
 * recorded in the lane's row before anything is claimed, because this owner may die, too, before it has settled.
 */
export class LaneSuspect {
  readonly #turn: Pick<LaneTurn, 'input' | 'lease'>;
  #position: string | null;
  #isMarked: boolean;

  constructor(turn: Pick<LaneTurn, 'input' | 'lease'>, { lapsed, suspect }: AcquiredLane) {
    this.#turn = turn;
    this.#position = suspect;
    this.#isMarked = !lapsed;
  }

  /** `null`: there is nothing that it may have published. */
  get position(): string | null {
    return this.#position;
  }

  /** False: the lane's row does not record it yet, and nothing may be sent. */
  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** Records it, unless that was done or the lane has another owner. */
  async mark(): Promise<void> {
    if (this.#isMarked) return;
    const { input, lease } = this.#turn;
    const position = await markSuspect(input.database, input.lane, lease.owner);
    if (position === undefined) return;
    this.#position = position;
    this.#isMarked = true;
  }
}
