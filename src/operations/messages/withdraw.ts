import { randomUUID } from 'node:crypto';
import type { Duration } from '../../core/duration.ts';
import { type Lane, laneName } from '../../core/lane.ts';
import { rest } from '../../core/rest.ts';
import {
  type Author,
  changeLocked,
  messagesPerTransaction,
  type Round,
  transactOrRehearse,
} from '../../store/audit/audit.ts';
import type { Database } from '../../store/database/database.ts';
import { freeLease, takeLane } from '../../store/lane/lease.ts';
import { sendNudge } from '../../store/lane/nudge.ts';
import { pauseIfRunning, resumeEachOwn } from '../../store/lane/pause.ts';
import { type MessageAnswer, type MessageChange, outboxChange } from '../../store/message/change.ts';
import { makeLane, withdrawAsOwner, withdrawWaiting } from '../../store/message/withdraw.ts';
import { idsOf, lanesOf, type Target, wakeLanes } from '../change.ts';
import { authorOf, durationOf, type OperationOptions } from '../operation-options.ts';

/** Options of a withdrawal. */
export interface WithdrawOptions extends OperationOptions {
  /** How long to wait for relays to free the lanes of the messages, 0 or more. @defaultValue `'15s'` */
  readonly timeout?: Duration;
}

const tryAgainMs = 25;

/**
 * Cancels ready messages that were certainly not published, and all messages that `cancel` cancels.
 *
 * Takes ownership of each lane of the messages. If a relay owns it, the topic is paused until the relay has freed the lane,
 * and resumed afterwards, unless another operator paused it. If the process that does this dies, the topic may stay
 * paused; the status shows that, and who paused it.
 *
 * @returns `canceled`: it will never be published. `too-late`: it was, or may have been, published. `busy`: the relay did
 * not free the lane in time, and nothing was done.
 */
export async function withdrawMessages(
  database: Database,
  target: Target,
  options: WithdrawOptions,
): Promise<readonly MessageAnswer<'canceled'>[]> {
  const author = authorOf(options);
  const ids = await idsOf(database, target);
  const work = new Withdrawal(database, author, options);
  try {
    for (let start = 0; start < ids.length; start += messagesPerTransaction)
      await work.run(ids.slice(start, start + messagesPerTransaction));
  } finally {
    await work.end();
  }
  return ids.flatMap((id) => work.answers.get(id) ?? []);
}

type WithdrawAnswer = MessageAnswer<'canceled'>;

class Withdrawal {
  readonly answers = new Map<string, WithdrawAnswer>();
  readonly #database: Database;
  readonly #author: Author;
  readonly #dryRun: boolean;
  readonly #until: number;
  readonly #owner = randomUUID();
  /** The audit entries of our own pauses, by topic. `undefined`: the pause was not answered. */
  readonly #pauses = new Map<string, string | undefined>();

  constructor(database: Database, author: Author, options: WithdrawOptions) {
    const { dryRun = false, timeout } = options;
    this.#database = database;
    this.#author = author;
    this.#dryRun = dryRun;
    this.#until = performance.now() + durationOf('timeout', timeout, 15_000);
  }

  /** Repeats in rounds, because messages change their states and lanes meanwhile. */
  async run(ids: readonly string[]): Promise<void> {
    let left = ids;
    for (;;) {
      const { busy, deferred } = await this.#round(left, withdrawWaiting, this.#overdue);
      const undecided = [...busy];
      for (const rows of byLane(deferred)) undecided.push(...(await this.#onLane(rows)));
      left = undecided;
      if (left.length === 0) return;
      await rest(tryAgainMs);
    }
  }

  /** Ends our pauses, and wakes relays. */
  async end(): Promise<void> {
    const author = this.#author;
    const pauses = Array.from(this.#pauses, ([topic, auditId]) => ({
      topic,
      pause: auditId ?? this.#pauseDetails,
      author,
    }));
    try {
      await resumeEachOwn(this.#database, pauses);
    } finally {
      await this.#wake();
    }
  }

  async #wake(): Promise<void> {
    // Names no lanes, because any lane of a paused topic may have work.
    if (this.#pauses.size > 0) await sendNudge(this.#database, []).catch(() => undefined);
    else if (!this.#dryRun) await wakeLanes(this.#database, lanesOf([...this.answers.values()]));
  }

  /** Withdraws messages of one lane, and returns the ids that are still undecided. */
  async #onLane({ lane, ids }: InLane): Promise<readonly string[]> {
    if (!this.#dryRun && !(await this.#take(lane))) return ids;
    const change = withdrawAsOwner(lane, this.#owner, this.#dryRun);
    try {
      const { busy, deferred } = await this.#round(ids, change, false);
      return [...busy, ...deferred.map(({ id }) => id)];
    } finally {
      if (!this.#dryRun) await freeLease(this.#database, lane, this.#owner, false, true);
    }
  }

  /** Becomes the owner of a lane. @returns false if the time is over and the lane still has another owner */
  async #take(lane: Lane): Promise<boolean> {
    await makeLane(this.#database, lane);
    for (;;) {
      if (await takeLane(this.#database, lane, this.#owner)) return true;
      if (this.#overdue) return false;
      await this.#pause(lane);
      await rest(tryAgainMs);
    }
  }

  async #pause(lane: Lane): Promise<void> {
    const { topic } = lane;
    const earlier = this.#pauses.get(topic);
    // Noted first: if the connection breaks during the commit, the topic may be paused.
    this.#pauses.set(topic, undefined);
    const auditId = await pauseIfRunning(this.#database, topic, this.#author, this.#pauseDetails);
    const latest = auditId ?? earlier;
    if (latest === undefined) this.#pauses.delete(topic);
    else this.#pauses.set(topic, latest);
    if (auditId !== undefined) await wakeLanes(this.#database, [lane]);
  }

  /** No other withdrawal's pauses have these. */
  get #pauseDetails(): Readonly<Record<string, unknown>> {
    return { for: 'withdraw', withdrawal: this.#owner };
  }

  get #overdue(): boolean {
    return performance.now() >= this.#until;
  }

  async #round(
    ids: readonly string[],
    change: MessageChange<'canceled'>,
    last: boolean,
  ): Promise<Round<WithdrawAnswer>> {
    const withdrawal = outboxChange(change);
    const round = await transactOrRehearse(this.#database, this.#dryRun, (sql) =>
      changeLocked(sql, ids, withdrawal, this.#author, last),
    );
    for (const answer of round.answers) this.answers.set(answer.id, answer);
    return round;
  }
}

interface InLane {
  readonly lane: Lane;
  readonly ids: readonly string[];
}

function byLane(answers: readonly WithdrawAnswer[]): readonly InLane[] {
  const groups = new Map<string, InLane>();
  for (const { id, topic, lane } of answers) {
    if (topic === null || lane === null) continue;
    const name = laneName({ topic, lane });
    groups.set(name, { lane: { topic, lane }, ids: [...(groups.get(name)?.ids ?? []), id] });
  }
  return [...groups.values()];
}
