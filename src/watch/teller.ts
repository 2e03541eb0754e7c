import { keepLooking } from '../core/keep-looking.ts';
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
  readonly #stopping = new AbortController();
  readonly #telling = new Set<Promise<void>>();
  #running: Promise<unknown> | undefined;

  constructor(input: AlertTellerInput) {
    this.#input = input;
  }

  start(): void {
    this.#running ??= Promise.all(
      this.#input.destinations.map((destination) =>
        keepLooking(
          () => {
            const round = this.#round(destination).finally(() => this.#telling.delete(round));
            this.#telling.add(round);
            return round;
          },
          this.#input.everyMs,
          this.#stopping.signal,
        ),
      ),
    );
  }

  /** Gives up the message under way; another relay sends it. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#telling);
  }

  async #round(destination: Destination): Promise<void> {
    try {
      await this.#tell(destination);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#input.report({ type: 'error', during: 'alerts', error });
    }
  }

  async #tell(destination: Destination): Promise<void> {
    const { database, from, gapMs } = this.#input;
    const { name } = destination;
    if ((await readNews(database, name)).length === 0) return;
    if (!(await takeDestination(database, name, { leaseMs, gapMs }))) return;
    // Another relay may have sent it in between.
    const news = await readNews(database, name);
    if (news.length === 0) return freeDestination(database, name);
    try {
      await destination.tell(messageOfNews(news, from), this.#stopping.signal);
    } catch (error) {
      return this.#untold(name, error);
    }
    await noteNewsTold(database, name, news);
  }

  async #untold(name: string, error: unknown): Promise<void> {
    const { database, report } = this.#input;
    // What the stop has cut off is no failure of the destination.
    if (this.#stopping.signal.aborted) return freeDestination(database, name);
    const noted = await noteUntold(database, name, reasonOf(error).slice(0, longestError));
    if (noted !== undefined) report({ type: 'alert-untold', destination: name, ...noted, error });
  }
}
