import { OutboxError } from './errors.ts';

/** Something that does not work at the moment. */
export interface Failing {
  /**
   * What it is, for people and logs: a server (`PostgreSQL`, `Temporal`, the name of a transport or source), a part of the
   * work (`look`, `schedules`, `receipts`), or what stands still (`lane orders/0`, `partition orders/3`, `address orders`).
   * More of them may come with any version.
   */
  readonly what: string;
  /** When the first of an unbroken row of failures was met, by the clock of this process. */
  readonly since: Date;
  /** The last one: what was thrown, or what it says. */
  readonly error: unknown;
}

/**
 * How a relay or a consumer is, as far as its process knows: nobody is asked for it, so it is answered at once, whatever is
 * away. What happens elsewhere, such as how many messages wait, is the business of `status`.
 */
export interface Health {
  /**
   * `starting`: it waits for its servers, or begins its work. `running`: it has begun, and does not end by itself. `stopping`:
   * `stop` was called. `stopped`: it has ended, could not start, or was not started yet.
   */
  readonly state: 'starting' | 'running' | 'stopping' | 'stopped';
  /**
   * True while it takes part in the work: a relay whose workers are connected to Temporal, a consumer that is a member of its
   * group at each of its brokers, with partitions or, where others have them all, without. It says nothing about PostgreSQL.
   */
  readonly joined: boolean;
  /**
   * When it last got on with a message: a relay that settled a batch or confirmed messages, a consumer one of whose messages
   * ended, whether it was handled, dropped or kept. `null`: not since it was started. Where nothing is to be done it grows
   * old, so by itself it tells no trouble.
   */
  readonly lastProgressAt: Date | null;
  /**
   * What does not work at the moment; empty: nothing that is known. It is tried again all the time. An entry goes when the
   * same thing has worked, and where nobody can tell that, ten seconds after its next try was due.
   */
  readonly failing: readonly Failing[];
}

/** How long an entry stays after its next try was due, in milliseconds. */
const forgetMs = 10_000;
/** Questions that are open for longer count as not answered. */
const silentMs = 3_000;

interface Entry extends Failing {
  /** It is about a server: what waits for its answers may wait for long. */
  readonly away: boolean;
  /** By `performance.now()`. */
  readonly forgottenAt: number;
}

/** How a failure is noted. */
interface FailureRules {
  /** When it is tried again, in milliseconds: the entry lasts for ten seconds longer. @defaultValue until it is mended */
  readonly retryInMs?: number;
  /** A server is away. @defaultValue false */
  readonly away?: boolean;
}

/** Collects what is known about one relay or consumer. */
export class HealthRecord {
  state: Health['state'] = 'starting';
  /** Asked at each reading. */
  joined: () => boolean = () => false;
  /** Asked at each reading, besides what was noted. */
  others: () => readonly Failing[] = () => [];
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Map<string, Set<{ readonly at: number; readonly since: Date }>>();
  #progressAt: number | undefined;

  /** Notes that a message got further. */
  progressed(): void {
    this.#progressAt = Date.now();
  }

  failed(what: string, error: unknown, { away = false, retryInMs = Infinity }: FailureRules = {}): void {
    const before = this.#entry(what);
    this.#entries.set(what, {
      what,
      since: before?.since ?? new Date(),
      error,
      away,
      forgottenAt: performance.now() + retryInMs + forgetMs,
    });
  }

  mended(what: string): void {
    this.#entries.delete(what);
  }

  /** Waits for an answer of a server; one that does not come for three seconds is told as failing. */
  async during<Answer>(server: string, question: Promise<Answer>): Promise<Answer> {
    const questions = this.#open.get(server) ?? new Set();
    this.#open.set(server, questions);
    const mine = { at: performance.now(), since: new Date() };
    questions.add(mine);
    try {
      return await question;
    } finally {
      questions.delete(mine);
    }
  }

  /** True when a server is known to be away, or silent for so long: waiting for it may be in vain. */
  isAway(silentForMs: number): boolean {
    return (
      this.#silent(silentForMs).length > 0 ||
      [...this.#entries.keys()].some((what) => this.#entry(what)?.away === true)
    );
  }

  read(): Health {
    const noted = [...this.#entries.keys()].flatMap((what) => this.#entry(what) ?? []);
    const silent = this.#silent(silentMs).filter(({ what }) => noted.every((entry) => entry.what !== what));
    const failing = [...noted, ...silent, ...this.others()];
    return {
      state: this.state,
      joined: this.state === 'running' && this.joined(),
      lastProgressAt: this.#progressAt === undefined ? null : new Date(this.#progressAt),
      failing: failing.map(({ what, since, error }) => ({ what, since, error })),
    };
  }

  #entry(what: string): Entry | undefined {
    const entry = this.#entries.get(what);
    if (entry === undefined || performance.now() < entry.forgottenAt) return entry;
    this.#entries.delete(what);
    return undefined;
  }

  #silent(forMs: number): readonly Failing[] {
    return [...this.#open].flatMap(([server, questions]) => {
      const [oldest] = questions;
      const ms = oldest === undefined ? 0 : performance.now() - oldest.at;
      if (oldest === undefined || ms <= forMs) return [];
      const error = new OutboxError(
        'OUTBOX_SERVER_UNAVAILABLE',
        `${server} has not answered for ${Math.floor(ms / 1_000)} s.`,
        { details: { server } },
      );
      return [{ what: server, since: oldest.since, error }];
    });
  }
}
