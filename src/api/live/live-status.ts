import { startTimer } from '../../core/timer.ts';
import type { Status } from '../../operations/delivery/status.ts';

/** Milliseconds from the beginning of one look to the next, however many there are who want to know. */
const lookEveryMs = 2_000;

/** What a subscriber gets. */
export type StatusNews = { readonly status: Status } | { readonly error: unknown };

/** Looks at the status while somebody wants to know, once for all of them. */
export class LiveStatus {
  readonly #look: () => Promise<Status>;
  readonly #subscribers = new Set<(news: StatusNews) => void>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #lookedAt = -Infinity;
  #last: StatusNews | undefined;

  constructor(look: () => Promise<Status>) {
    this.#look = look;
  }

  /** @returns ends it */
  subscribe(tell: (news: StatusNews) => void): () => void {
    this.#subscribers.add(tell);
    if (this.#last !== undefined && performance.now() - this.#lookedAt < lookEveryMs) tell(this.#last);
    this.#plan();
    return () => {
      this.#subscribers.delete(tell);
      if (this.#subscribers.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#looking || this.#subscribers.size === 0) return;
    const inMs = Math.max(0, this.#lookedAt + lookEveryMs - performance.now());
    this.#timer = startTimer(() => void this.#lookOnce(), inMs);
  }

  async #lookOnce(): Promise<void> {
    this.#timer = undefined;
    this.#looking = true;
    this.#lookedAt = performance.now();
    const news: StatusNews = await this.#look().then(
      (status) => ({ status }),
      (error: unknown) => ({ error }),
    );
    this.#looking = false;
    this.#last = news;
    for (const tell of this.#subscribers) tell(news);
    this.#plan();
  }
}
