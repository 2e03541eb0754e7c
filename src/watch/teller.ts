import { Loop } from '../core/loop.ts';
import { reasonOf } from '../core/reason.ts';
import type { RelayReport } from '../relay/report.ts';
import { readNews } from '../store/alerts/alerts.ts';
import { freeDestination, noteNewsTold, noteUntold, takeDestination } from '../store/alerts/destinations.ts';
import type { Database } from '../store/database/database.ts';
import type { Destination } from './destination.ts';
import { messageOfNews } from './message.ts';

export interface AlertTellerInput {
  readonly database: Database;
  readonly destinations: readonly Destination[];
  /** Between looks for news. */
  readonly everyMs: number;
  /** Between two messages to a destination, at least: what comes meanwhile is one message. */
  readonly gapMs: number;
  /** The installation, in words. */
  readonly from: string;
  readonly report: RelayReport;
}

/** Longer than a destination may take. */
const leaseMs = 60_000;
const longestError = 500;

/**
 * Sends each destination the alerts that it has not got yet, in one message at a time.
 *
 * Level-triggered: rows say what a destination has got, so any relay may send the rest, and one that fails holds up no other. Only a relay
 * that dies between a message and its note causes a second one.
 */
export class AlertTeller {
  readonly #input: AlertTellerInput;
  readonly #rounds: readonly Loop[];

  constructor(input: AlertTellerInput) {
    this.#input = input;
    this.#rounds = input.destinations.map(
      (destination) => new Loop((stopping) => this.#round(destination, stopping)),
    );
  }

  start(): void {
    for (const rounds of this.#rounds) rounds.start();
  }

  /** Gives up the message under way; another relay sends it. Never rejects. */
  async stop(): Promise<void> {
    await Promise.all(this.#rounds.map((rounds) => rounds.stop()));
  }

  async #round(destination: Destination, stopping: AbortSignal): Promise<number> {
    const { everyMs, report } = this.#input;
    try {
      await this.#tell(destination, stopping);
    } catch (error) {
      if (!stopping.aborted) report({ type: 'error', during: 'alerts', error });
    }
    return everyMs;
  }

  async #tell(destination: Destination, stopping: AbortSignal): Promise<void> {
    const { database, from, gapMs } = this.#input;
    const { name } = destination;
    if ((await readNews(database, name)).length === 0) return;
    if (!(await takeDestination(database, name, { leaseMs, gapMs }))) return;
    // Another relay may have sent it in between.
    const news = await readNews(database, name);
    if (news.length === 0) return freeDestination(database, name);
    try {
      await destination.tell(messageOfNews(news, from), stopping);
    } catch (error) {
      return this.#untold(name, error, stopping);
    }
    await noteNewsTold(database, name, news);
  }

  async #untold(name: string, error: unknown, stopping: AbortSignal): Promise<void> {
    const { database, report } = this.#input;
    // What the stop has cut off is no failure of the destination.
    if (stopping.aborted) return freeDestination(database, name);
    const noted = await noteUntold(database, name, reasonOf(error).slice(0, longestError));
    if (noted !== undefined) report({ type: 'alert-untold', destination: name, ...noted, error });
  }
}
