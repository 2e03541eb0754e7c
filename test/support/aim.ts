import { setTimeout as delay } from 'node:timers/promises';

/** An aim may have moved by so much when its time comes. */
const aheadMs = 1_000;
const lookMs = 25;

/** Something to do at a moment, in milliseconds since the epoch. */
interface Shot {
  readonly atMs: number;
}

/**
 * Aims at moments that a busy machine puts off, so that both outcomes of a race occur on any machine: who came too late
 * has the next ones come a step earlier, and who came too early a step later.
 */
export class Aim {
  readonly #stepMs: number;
  #shiftMs = 0;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Does all in the order of their moments, at most so many at once: what queued for a connection would miss its moment. */
  async shootAll<Each extends Shot>(
    shots: readonly Each[],
    atOnce: number,
    shoot: (shot: Each) => Promise<'too-early' | 'too-late'>,
  ): Promise<void> {
    const left = shots.toSorted((a, b) => a.atMs - b.atMs).values();
    const shooter = async (): Promise<void> => {
      for (const shot of left) {
        await this.#reach(shot.atMs);
        this.#shiftMs += (await shoot(shot)) === 'too-early' ? this.#stepMs : -this.#stepMs;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, shooter));
  }

  async #reach(atMs: number): Promise<void> {
    await delay(Math.max(0, atMs - aheadMs - Date.now()));
    for (;;) {
      const leftMs = atMs + this.#shiftMs - Date.now();
      if (leftMs <= 0) return;
      await delay(Math.min(leftMs, lookMs));
    }
  }
}
