import type { Database } from '../store/database.ts';
import { markTold, type MessageStart, untoldMessages, wantedLanes } from '../store/starts.ts';
import { coalesce } from './coalesce.ts';
import type { WorkflowStarter } from './ports.ts';
import type { Report } from './report.ts';

/** Messages read at once, and starts under way at once. */
const messagesPerRound = 200;
const concurrentStarts = 20;

/**
 * Makes sure that every lane with work, and every waiting message inside its horizon, has its workflow running.
 *
 * Level-triggered: it looks at what is, not at what happened, so a start that fails or is lost is made again. Any
 * number of starters may run.
 */
export class Starter {
  readonly #database: Database;
  readonly #workflows: WorkflowStarter;
  readonly #report: Report;
  readonly #stopping = new AbortController();

  constructor(database: Database, workflows: WorkflowStarter, report: Report) {
    this.#database = database;
    this.#workflows = workflows;
    this.#report = report;
  }

  /** Starts the lanes that have work and no owner. */
  readonly startLanes = coalesce(() => this.#guard('start-lanes', () => this.#lanesOnce()));

  /** Starts the workflows of waiting messages, until none is left. */
  readonly startMessages = coalesce(() => this.#guard('start-messages', () => this.#allMessages(this.#stopping.signal)));

  /** Makes no more starts, and waits for those under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.startLanes(), this.startMessages()]);
  }

  async #lanesOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const lanes = await wantedLanes(this.#database);
    if (lanes.length === 0) return;
    await Promise.all(lanes.map((lane) => this.#workflows.startLane(lane)));
    this.#report({ type: 'lanes-started', count: lanes.length });
  }

  async #allMessages(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const messages = await untoldMessages(this.#database, messagesPerRound);
      const told = await this.#tell(messages, signal);
      if (told.length > 0) {
        await markTold(this.#database, told);
        this.#report({ type: 'messages-started', count: told.length });
      }
      if (messages.length < messagesPerRound) return;
    }
  }

  /** The messages whose start succeeded. The first failure ends the round; what is left is found again. */
  async #tell(messages: readonly MessageStart[], signal: AbortSignal): Promise<readonly MessageStart[]> {
    const told: MessageStart[] = [];
    const queue = messages.values();
    let failure: unknown;
    const work = async (): Promise<void> => {
      for (const message of queue) {
        if (failure !== undefined || signal.aborted) return;
        await this.#workflows.startMessage(message).then(
          () => told.push(message),
          (error: unknown) => (failure = error),
        );
      }
    };
    await Promise.all(Array.from({ length: concurrentStarts }, work));
    if (failure !== undefined) {
      await markTold(this.#database, told);
      throw failure;
    }
    return told;
  }

  async #guard(what: 'start-lanes' | 'start-messages', work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#report({ type: 'failed', what, error });
    }
  }
}
