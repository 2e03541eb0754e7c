import type { BrokerConnection } from './broker-connection.ts';
import type { Brokers } from './brokers.ts';

const limitName = 'max.message.bytes';
const codecName = 'compression.type';
const freshMs = 10_000;
const freshAfterFailureMs = 1_000;

/** What the configuration of a topic asks of its batches. */
export interface TopicSetting {
  /** The largest record batch that it takes, in bytes. */
  readonly maxBytes: number;
  /** Batches are stored in gzip, and so they are sent in it: the broker then stores them as they come. */
  readonly gzip: boolean;
}

/** Kafka's own defaults. */
const defaults: TopicSetting = { maxBytes: 1_048_588, gzip: false };

interface Known {
  readonly setting: TopicSetting;
  readonly staleAtMs: number;
}

/**
 * What each topic asks of its batches, as its configuration says.
 *
 * Read at first use and again when it is 10 s old; the first call waits for it, later ones use what is known. It only
 * saves refused batches and work of the broker: the broker has the last word.
 */
export class TopicSettings {
  readonly #brokers: Brokers;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<TopicSetting>>();

  constructor(brokers: Brokers) {
    this.#brokers = brokers;
  }

  /** The settings; Kafka's defaults where they cannot be read, for example without permission. */
  async of(address: string): Promise<TopicSetting> {
    const known = this.#known.get(address);
    if (known !== undefined && known.staleAtMs > performance.now()) return known.setting;
    const reading = this.#reading.get(address) ?? this.#read(address);
    return known?.setting ?? reading;
  }

  /** Waits until nothing is being read any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#reading.values());
  }

  #read(address: string): Promise<TopicSetting> {
    const reading = this.#brokers
      .any()
      .then((connection) => readSetting(connection, address))
      .then(
        (setting) => ({ setting, staleAtMs: performance.now() + freshMs }),
        () => ({
          setting: this.#known.get(address)?.setting ?? defaults,
          staleAtMs: performance.now() + freshAfterFailureMs,
        }),
      )
      .then((known) => {
        this.#known.set(address, known);
        this.#reading.delete(address);
        return known.setting;
      });
    this.#reading.set(address, reading);
    return reading;
  }
}

async function readSetting(connection: BrokerConnection, address: string): Promise<TopicSetting> {
  const settings = await connection.settings('topic', address, [limitName, codecName]);
  const maxBytes = Number(settings.get(limitName));
  return {
    maxBytes: Number.isInteger(maxBytes) && maxBytes > 0 ? maxBytes : defaults.maxBytes,
    gzip: settings.get(codecName) === 'gzip',
  };
}
