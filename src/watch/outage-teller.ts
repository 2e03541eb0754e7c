import { pauseAfter } from '../core/pause-after.ts';
import type { RelayReport } from '../relay/report.ts';
import { type AlertNews, type Firing, unknownForMs } from '../store/alerts/alerts.ts';
import { longestRestMs } from '../store/alerts/destinations.ts';
import type { Destination } from './destination.ts';
import { firingOf } from './firing-rules.ts';
import type { Labels } from './labels.ts';
import { messageOfNews } from './message.ts';

export interface OutageTellerInput {
  /** The server that may be away. */
  readonly server: Labels;
  /** Who asks it, in words. */
  readonly asker: string;
  readonly destinations: readonly Destination[];
  /** How long it may be away untold; `false`: for as long as it likes. */
  readonly thresholdMs: number | false;
  readonly againMs: number;
  /** An outage is over after so many looks without it. */
  readonly calmLooks: number;
  /** No alert is to be sent now. */
  readonly silenced: () => boolean;
  /** The installation, in words. */
  readonly from: string;
  readonly report: RelayReport;
}

interface Outage {
  readonly since: Date;
  readonly sinceMs: number;
  /** Since it is beyond the threshold. */
  firing?: Firing;
  /** Looks in a row that it answered, and the first of them. */
  calm: number;
  calmAt: Date | null;
  overAt: Date | null;
  /** When that was noted, as `performance.now()` has it. */
  overMs: number;
  /** What was last sent to each destination. */
  readonly told: Map<string, { readonly atMs: number; readonly over: boolean; readonly news: number }>;
}

/** How long a destination rests after failures, as {@link longestRestMs} has it for all other alerts. */
const rests = { first: 2_000, most: longestRestMs };

/**
 * Sends alerts about outages of the database, which cannot say who has got one: each relay sends its own, once when one begins,
 * again after a while, and once when it is over.
 */
export class OutageTeller {
  readonly #input: OutageTellerInput;
  readonly #stopping = new AbortController();
  readonly #telling = new Map<string, Promise<void>>();
  readonly #failed = new Map<string, { readonly failures: number; readonly restsUntilMs: number }>();
  /** In the order of their beginnings; only the last one may go on. */
  #outages: readonly Outage[] = [];

  constructor(input: OutageTellerInput) {
    this.#input = input;
  }

  /** Somebody has looked whether it answers. @param error why it does not; `null`: it does */
  looked(error: string | null): void {
    const { destinations, thresholdMs } = this.#input;
    if (thresholdMs === false) return;
    if (error === null) this.#answered();
    else this.#silent(error, thresholdMs);
    for (const destination of destinations) this.#tell(destination);
    this.#outages = this.#outages.filter((outage) => !this.#isDone(outage));
  }

  /** Gives up the messages under way. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#telling.values());
  }

  #silent(error: string, thresholdMs: number): void {
    const { asker, server } = this.#input;
    let outage = this.#current();
    if (outage === undefined) {
      const sinceMs = performance.now();
      outage = {
        since: new Date(),
        sinceMs,
        calm: 0,
        calmAt: null,
        overAt: null,
        overMs: 0,
        told: new Map(),
      };
      this.#outages = [...this.#outages, outage];
    }
    outage.calm = 0;
    outage.calmAt = null;
    const figure = performance.now() - outage.sinceMs;
    if (figure <= thresholdMs) return;
    const began = outage.firing === undefined;
    outage.firing = firingOf(
      'serverAway',
      { of: server, figure, because: `${asker} gets: ${error}` },
      thresholdMs,
    );
    if (began) this.#report('alert-began', outage.firing);
  }

  #answered(): void {
    const outage = this.#current();
    if (outage === undefined) return;
    if (outage.firing === undefined) {
      this.#forget(outage);
      return;
    }
    outage.calmAt ??= new Date();
    outage.calm += 1;
    if (outage.calm < this.#input.calmLooks) return;
    outage.overAt = outage.calmAt;
    outage.overMs = performance.now();
    this.#report('alert-ended', outage.firing);
    if (this.#input.silenced() && outage.told.size === 0) this.#forget(outage);
  }

  #tell(destination: Destination): void {
    const { name } = destination;
    const resting = performance.now() < (this.#failed.get(name)?.restsUntilMs ?? 0);
    if (resting || this.#telling.has(name) || this.#input.silenced()) return;
    const news = this.#outages.filter((outage) => this.#isNews(outage, name));
    if (news.length === 0) return;
    const telling = this.#send(destination, news).finally(() => this.#telling.delete(name));
    this.#telling.set(name, telling);
  }

  async #send(destination: Destination, outages: readonly Outage[]): Promise<void> {
    const { from, report } = this.#input;
    const { name } = destination;
    const told = outages.map((outage) => ({ outage, over: outage.overAt !== null }));
    const news = outages.flatMap((outage) => newsOf(outage, name));
    try {
      await destination.tell(messageOfNews(news, from), this.#stopping.signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const failures = (this.#failed.get(name)?.failures ?? 0) + 1;
      const retryInMs = pauseAfter(failures, rests);
      this.#failed.set(name, { failures, restsUntilMs: performance.now() + retryInMs });
      report({ type: 'alert-untold', destination: name, failures, retryInMs, error });
      return;
    }
    this.#failed.delete(name);
    for (const { outage, over } of told)
      outage.told.set(name, { atMs: performance.now(), over, news: numberAfter(outage, name) });
  }

  #isNews(outage: Outage, name: string): boolean {
    const { firing, overAt, told } = outage;
    if (firing === undefined) return false;
    if (overAt !== null) return this.#owesEnd(outage, name);
    const last = told.get(name);
    return last === undefined || performance.now() - last.atMs >= this.#input.againMs;
  }

  /** Who knows that it had begun hears of its end, also behind a silence. To anybody else what was over for an hour is no news. */
  #owesEnd({ overMs, told }: Outage, name: string): boolean {
    const last = told.get(name);
    return last === undefined ? performance.now() - overMs <= unknownForMs : !last.over;
  }

  #isDone(outage: Outage): boolean {
    return (
      outage.overAt !== null && this.#input.destinations.every(({ name }) => !this.#owesEnd(outage, name))
    );
  }

  #current(): Outage | undefined {
    return this.#outages.find(({ overAt }) => overAt === null);
  }

  #forget(outage: Outage): void {
    this.#outages = this.#outages.filter((one) => one !== outage);
  }

  #report(type: 'alert-began' | 'alert-ended', { rule, subject, text }: Firing): void {
    this.#input.report({ type, rule, subject, text });
  }
}

function newsOf(outage: Outage, name: string): readonly AlertNews[] {
  const { firing, overAt, since, told } = outage;
  if (firing === undefined) return [];
  const { labels: _labels, lastsMs: _lastsMs, ...facts } = firing;
  return [{ ...facts, since, overAt, known: told.has(name), news: String(numberAfter(outage, name)) }];
}

function numberAfter({ told }: Outage, name: string): number {
  return (told.get(name)?.news ?? 0) + 1;
}
