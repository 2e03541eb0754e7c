import type { ConfirmRules } from '../core/topic.ts';
import type { Database } from '../store/database/database.ts';
import { DueEdge } from '../store/lane/due-edge.ts';
import {
  giveUp,
  holdLanes,
  lockOverdue,
  type OverdueTopic,
  overdueTopics,
  postpone,
  resend,
  type Unconfirmed,
} from '../store/message/confirm-overdue.ts';
import { coalesce } from './coalesce.ts';
import type { CommittedOffsets } from './overdue-offsets.ts';
import { judgeOverdue, type OverdueVerdict } from './overdue-verdict.ts';
import type { Passed } from './passed-times.ts';
import type { RelayReport } from './report.ts';

/** Rows per transaction, and transactions per topic and round: the rest waits for the next round. */
const batchSize = 500;
const batchesPerRound = 10;
/** Between two walks over all that waits for receipts, which find what the others cannot. */
const walkEveryMs = 10_000;

/** A topic that asks for receipts. */
export interface ConfirmingTopic {
  readonly name: string;
  readonly address: string;
  /** Name of its transport. */
  readonly transport: string;
  /** False if its keys are not shown. */
  readonly visible: boolean;
  readonly confirm: ConfirmRules;
  readonly offsets: CommittedOffsets;
}

interface BatchResult {
  /** Whether more messages may be overdue than these. */
  readonly full: boolean;
  readonly resent: number;
  readonly givenUp: readonly Unconfirmed[];
}

/**
 * Handles messages whose receipt is overdue: resends those that their group has passed without a receipt, and fails those
 * that were sent as often as allowed. Messages that the group has not reached wait.
 *
 * Level-triggered, and any number of relays may do it concurrently: the first one to lock a row handles it.
 */
export class Overdue {
  readonly #database: Database;
  readonly #topics: ReadonlyMap<string, ConfirmingTopic>;
  readonly #edges: ReadonlyMap<string, DueEdge>;
  readonly #report: RelayReport;
  readonly #stopping = new AbortController();

  constructor(database: Database, topics: readonly ConfirmingTopic[], report: RelayReport) {
    this.#database = database;
    this.#topics = new Map(topics.map((topic) => [topic.name, topic]));
    this.#edges = new Map(topics.map(({ name }) => [name, new DueEdge(walkEveryMs)]));
    this.#report = report;
  }

  /** One round over all topics; never rejects. */
  readonly check = coalesce(async () => {
    if (this.#stopping.signal.aborted || this.#topics.size === 0) return;
    try {
      const found = await overdueTopics(this.#database, this.#edges);
      await Promise.all(found.map((one) => this.#guarded(one)));
    } catch (error) {
      this.#report({ type: 'error', during: 'overdue', error });
    }
  });

  /** Starts nothing new, and waits for the current write, but not for the answer of a broker. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.check();
  }

  /** The failure of one topic, for example of its broker, must not delay the others. */
  async #guarded(found: OverdueTopic): Promise<void> {
    const topic = this.#topics.get(found.topic);
    if (topic === undefined) return;
    try {
      await this.#round(topic, found);
    } catch (error) {
      this.#report({ type: 'error', during: 'overdue', error });
    }
  }

  /** @returns `undefined` also if the relay stops before the broker has answered */
  #passed(
    { offsets, confirm, address }: ConfirmingTopic,
    unplaced: boolean,
  ): ReturnType<CommittedOffsets['passed']> {
    const { signal } = this.#stopping;
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(undefined);
      signal.addEventListener('abort', stop);
      offsets
        .passed(confirm.group, address, unplaced)
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', stop));
    });
  }

  async #round(topic: ConfirmingTopic, found: OverdueTopic): Promise<void> {
    // Read before the rows are locked: what the group passes in between counts in the next round.
    const passed = await this.#passed(topic, found.unplaced);
    if (passed === undefined) return;
    for (let batch = 0; batch < batchesPerRound && !this.#stopping.signal.aborted; batch += 1) {
      const { full, resent, givenUp } = await this.#batch(topic, found, passed);
      if (resent > 0) this.#report({ type: 'messages-resent', topic: topic.name, count: resent });
      if (givenUp.length > 0) this.#tellGivenUp(topic, givenUp);
      if (!full) return;
    }
  }

  #batch({ name, confirm }: ConfirmingTopic, found: OverdueTopic, passed: Passed): Promise<BatchResult> {
    return this.#database.transaction(async (sql) => {
      const overdue = await lockOverdue(sql, found, passed.before, batchSize);
      const verdicts: Record<OverdueVerdict, string[]> = {
        postpone: [],
        wait: [],
        resend: [],
        'give-up': [],
      };
      for (const message of overdue) {
        verdicts[judgeOverdue(message, passed, confirm.maxSends)].push(message.id);
      }
      const last = verdicts['give-up'];
      const givenUp = last.length > 0 ? await holdLanes(sql, name, last) : [];
      if (verdicts.postpone.length > 0) await postpone(sql, verdicts.postpone);
      const resent = verdicts.resend.length > 0 ? await resend(sql, verdicts.resend, givenUp) : 0;
      const failed = givenUp.length > 0 ? await giveUp(sql, givenUp, confirm.group) : [];
      // Those that wait would only be found again.
      const waiting = verdicts.wait.length + last.length - givenUp.length;
      const full = overdue.length === batchSize && waiting === 0;
      return { full, resent, givenUp: failed };
    });
  }

  #tellGivenUp(
    { name, address, transport, visible }: ConfirmingTopic,
    givenUp: readonly Unconfirmed[],
  ): void {
    this.#report({ type: 'messages-unconfirmed', topic: name, count: givenUp.length });
    for (const { id, key, lane, sends, error } of givenUp) {
      const shown = { id, key: visible ? key : null, attempt: sends, error };
      this.#report({
        type: 'failed',
        topic: name,
        lane,
        ...shown,
        outcome: 'unconfirmed',
        transport,
        address,
      });
    }
  }
}
