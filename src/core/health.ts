import { OutboxError } from './errors.ts';
import { reasonOf } from './reason.ts';

/** Something that is failing at the moment. As JSON it has the code of its error, and no text, which could contain a payload. */
export interface Failing {
  /**
   * What fails, for people and logs: a server (`PostgreSQL`, `Temporal`, the name of a transport or source), a part of the
   * work (`look`, `schedules`, `receipts`), or what is blocked (`lane orders/0`, `partition orders/3`, `address orders`).
   * Any version may add more.
   */
  readonly what: string;
  /** Time of the first failure without a success since, by the clock of this process. */
  readonly since: Date;
  /** The last failure: an error of this library, or the text of any other one, with its causes. */
  readonly error: OutboxError | string;
}

/** The same as it was recorded. */
export interface Failure extends Omit<Failing, 'error'> {
  readonly error: unknown;
}

/**
 * Health of a relay or a consumer, from what its process knows: no server is queried, so it is answered at once, even if
 * servers are unreachable. For everything else, such as the number of waiting messages, see `status`.
 */
export interface Health {
  /**
   * `starting`: it waits for its servers, or begins its work. `running`: it has begun, and does not end by itself. `stopping`:
   * `stop` was called. `stopped`: it has ended, could not start, or was not started yet.
   */
  readonly state: 'starting' | 'running' | 'stopping' | 'stopped';
  /**
   * True while it can take work: a relay that has begun to watch the outbox, with Temporal or without, or a consumer that is a
   * member of its group at each of its brokers, even without partitions if others have them all. It says nothing about PostgreSQL.
   */
  readonly joined: boolean;
  /**
   * Time of the last progress: a relay settled a batch or confirmed messages, or a message of a consumer ended, whether it was
   * handled, dropped or kept. `null`: none since the start. Without work there is no progress, so an old time alone is no
   * sign of trouble.
   */
  readonly lastProgressAt: Date | null;
  /**
   * What is failing at the moment, and being retried; empty: nothing is known to fail. An entry is removed when the same thing
   * has succeeded, or, if success cannot be observed, ten seconds after its next try was due.
   */
  readonly failing: readonly Failing[];
}

/** Something that is failing, for readers who may not see payloads or addresses. */
export interface UntoldFailing extends Pick<Failing, 'what' | 'since'> {
  /** The code of an error of this library. */
  readonly code?: string;
}

/** The same without the text of the error, which could contain a payload or an address. */
export function withoutText({ what, since, error }: Failure): UntoldFailing {
  return { what, since, ...(error instanceof OutboxError && { code: error.code }) };
}

/** Whoever answers with the health of a process answers with what everybody may read. */
class ToldFailing implements Failing {
  readonly what: string;
  readonly since: Date;
  readonly error: OutboxError | string;

  constructor({ error, since, what }: Failure) {
    this.what = what;
    this.since = since;
    // Others are of clients and handlers, and may have values of theirs beside the text.
    this.error = error instanceof OutboxError ? error : reasonOf(error);
  }

  toJSON(): UntoldFailing {
    return withoutText(this);
  }
}

/** How long an entry stays after its next try was due, in milliseconds. */
const forgetMs = 10_000;
/** Queries that are open for longer count as not answered. */
const silentMs = 3_000;

interface Entry extends Failure {
  /** It is a server that cannot be reached: waiting for it may take long. */
  readonly away: boolean;
  /** By `performance.now()`. */
  readonly forgottenAt: number;
}

/** How a failure is recorded. */
interface FailureRules {
  /** Milliseconds until the next try: the entry stays ten seconds longer. @defaultValue until it is mended */
  readonly retryInMs?: number;
  /** A server is unreachable. @defaultValue false */
  readonly away?: boolean;
}

interface Question {
  /** By `performance.now()`. */
  readonly at: number;
  readonly since: Date;
}

/** Collects the health of one relay or consumer. */
export class HealthRecord {
  state: Health['state'] = 'starting';
  /** Called at each reading. */
  joined: () => boolean = () => false;
  /** Called at each reading, for failures in addition to the recorded ones. */
  others: () => readonly Failure[] = () => [];
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Map<string, Set<Question>>();
  /** Silences that outlasted a question: whoever asks again at once hears nothing since then, not since now. */
  readonly #silences = new Map<string, Question & { readonly forgottenAt: number }>();
  #progressAt: number | undefined;

  /** Records progress. */
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

  /** Waits for an answer of a server; after three seconds without an answer the server is reported as failing. */
  async during<Answer>(server: string, question: Promise<Answer>): Promise<Answer> {
    const questions = this.#open.get(server) ?? new Set();
    this.#open.set(server, questions);
    const mine: Question = { at: performance.now(), since: new Date() };
    questions.add(mine);
    try {
      const answer = await question;
      this.#silences.delete(server);
      return answer;
    } catch (error) {
      const now = performance.now();
      if (now - mine.at > silentMs)
        this.#silences.set(server, { ...mine, ...this.#oldest(server), forgottenAt: now + forgetMs });
      throw error;
    } finally {
      questions.delete(mine);
    }
  }

  /** True if a server is known to be unreachable, or has been silent for this long: waiting for it may be pointless. */
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
      failing: failing.map((one) => new ToldFailing(one)),
    };
  }

  #entry(what: string): Entry | undefined {
    const entry = this.#entries.get(what);
    if (entry === undefined || performance.now() < entry.forgottenAt) return entry;
    this.#entries.delete(what);
    return undefined;
  }

  /** The first question that a server has left without an answer. */
  #oldest(server: string): Question | undefined {
    const silence = this.#silences.get(server);
    if (silence !== undefined && performance.now() < silence.forgottenAt) return silence;
    const [open] = this.#open.get(server) ?? [];
    return open;
  }

  #silent(forMs: number): readonly Failure[] {
    return [...this.#open.keys()].flatMap((server) => {
      const oldest = this.#oldest(server);
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
