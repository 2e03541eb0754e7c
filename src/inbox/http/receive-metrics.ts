import { type Attributes, type Meter, openMeter } from '../../telemetry/meter.ts';
import { handledCounts } from '../handling/handled-counts.ts';
import { failureAttributes, handlingAttributes, sinceStoredS } from '../handling/handling-attributes.ts';

/** What was received, for its metrics. */
export interface Received {
  readonly group: string;
  /** As the request names it, which is not signed. */
  readonly topic: string | null;
  /** When the sender stored it, if it says so. */
  readonly storedAt: string | undefined;
}

/** Why a message has no effect. */
export interface ReceiveFailure {
  readonly error: unknown;
  /** Whether the work was called. */
  readonly begun: boolean;
  /** Whether the answer asks the sender not to try again. */
  readonly ended: boolean;
}

/** Topics that are counted by name: what a request calls its topic is not bounded. Further ones count without a name. */
const mostTopics = 100;

/**
 * Measures what this process receives by HTTP, as consumers do. A receiver has no end: durations and tries go to the first provider
 * that was set up, and what was counted to each.
 */
class ReceiveMetrics {
  readonly #topics = new Set<string>();
  #meter: Meter | undefined;

  /** Its effects are committed. */
  async handled(message: Received, tookMs: number): Promise<void> {
    await this.#measure(message, (meter, at) => {
      meter.record('processDuration', tookMs / 1_000, at);
      meter.add('handlerTries', 1, at);
      const delayS = sinceStoredS(message.storedAt);
      if (delayS !== undefined) meter.record('effectDelay', delayS, at);
      handledCounts.add({ of: 'consumed', attributes: { ...at, outcome: 'handled' }, value: 1 });
    });
  }

  /** Its effects had been committed before. */
  async repeated(message: Received): Promise<void> {
    await this.#measure(message, (_meter, at) =>
      handledCounts.add({ of: 'duplicates', attributes: at, value: 1 }),
    );
  }

  /** Its transaction is rolled back. */
  async failed(message: Received, tookMs: number, failure: ReceiveFailure): Promise<void> {
    const { begun, ended, error } = failure;
    await this.#measure(message, (meter, at) => {
      const failed = { ...at, ...failureAttributes(error) };
      meter.record('processDuration', tookMs / 1_000, failed);
      if (begun) {
        meter.add('handlerTries', 1, at);
        meter.add('handlerFailures', 1, failed);
      }
      if (ended) handledCounts.add({ of: 'consumed', attributes: { ...at, outcome: 'failed' }, value: 1 });
    });
  }

  async #measure(
    { group, topic }: Received,
    work: (meter: Meter, attributes: Attributes) => void,
  ): Promise<void> {
    const meter = (this.#meter ??= await openMeter());
    if (meter === undefined) return;
    handledCounts.tellTo(meter);
    if (topic !== null && this.#topics.size < mostTopics) this.#topics.add(topic);
    const known = topic !== null && this.#topics.has(topic) ? topic : null;
    work(meter, handlingAttributes('http', known, group));
  }
}

/** Those of this process. */
export const receiveMetrics = new ReceiveMetrics();
