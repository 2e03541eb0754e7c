import type { Attributes, Meter } from '../../telemetry/meter.ts';
import type { WorkFailure } from '../../telemetry/work-end.ts';
import type { ConsumerCounts, Tally } from '../consumer-counts.ts';
import type { Arrived } from './arrived.ts';
import { type HandledCount, handledCounts } from './handled-counts.ts';
import { failureAttributes, handlingAttributes, sinceStoredS } from './handling-attributes.ts';

export interface HandlingMetricsInput {
  readonly meter: Meter;
  readonly group: string;
  readonly tally: Tally;
  /** Name of the source that a topic arrives from. */
  readonly systemOf: (topic: string) => string;
}

/** Most messages of a transaction whose delay is measured. */
const measuredAtOnce = 16;

const outcomes = [
  'handled',
  'expired',
  'parked',
  'failed',
  'ignored',
] as const satisfies readonly (keyof ConsumerCounts)[];

/** Measures what one consumer handles. */
export class HandlingMetrics {
  readonly #input: HandlingMetricsInput;
  /** By topic: they are the same for each message. */
  readonly #attributes = new Map<string, Attributes>();
  readonly #stop: () => void;

  constructor(input: HandlingMetricsInput) {
    this.#input = input;
    handledCounts.tellTo(input.meter);
    this.#stop = handledCounts.include(() => this.#counted());
  }

  /** A transaction of handlers has ended. */
  processed(topic: string, tookMs: number, error?: unknown): void {
    this.#input.meter.record('processDuration', tookMs / 1_000, {
      ...this.#at(topic),
      ...failureAttributes(error),
    });
  }

  /** A transaction has ended in which handlers were given so many messages, by topic. */
  tried(tries: ReadonlyMap<string, number>, failure?: WorkFailure): void {
    const { meter } = this.#input;
    for (const [topic, count] of tries) {
      const attributes = this.#at(topic);
      meter.add('handlerTries', count, attributes);
      if (failure !== undefined)
        meter.add('handlerFailures', count, { ...attributes, ...failureAttributes(failure.error) });
    }
  }

  /** The effects of these messages are committed: measures all if they are few, else some that are evenly spread. */
  effects<Tx>(messages: readonly Arrived<Tx>[]): void {
    const step = Math.max(1, messages.length / measuredAtOnce);
    for (let place = 0; place < messages.length; place += step) {
      const message = messages[Math.floor(place)];
      const delayS = sinceStoredS(message?.incoming.header('ce_time'));
      if (message === undefined || delayS === undefined) continue;
      this.#input.meter.record('effectDelay', delayS, this.#at(message.topic));
    }
  }

  /** Ends its counting; what was counted stays. */
  stop(): void {
    this.#stop();
  }

  #counted(): readonly HandledCount[] {
    return this.#input.tally.topics().flatMap(([topic, counts]) => {
      const attributes = this.#at(topic);
      const all: readonly HandledCount[] = [
        ...outcomes.map((outcome) => ({
          of: 'consumed' as const,
          attributes: { ...attributes, outcome },
          value: counts[outcome],
        })),
        { of: 'duplicates', attributes, value: counts.duplicates },
        { of: 'parked', attributes, value: counts.parked },
      ];
      return all.filter(({ value }) => value > 0);
    });
  }

  #at(topic: string): Attributes {
    const known = this.#attributes.get(topic);
    if (known !== undefined) return known;
    const { group, systemOf } = this.#input;
    const attributes = handlingAttributes(systemOf(topic), topic, group);
    this.#attributes.set(topic, attributes);
    return attributes;
  }
}
