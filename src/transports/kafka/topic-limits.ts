import type { Admin } from 'kafkajs';
import { kafkajs } from '../../kafka/kafkajs.ts';
import type { KafkaClient } from './client.ts';

/** Kafka's own default of `max.message.bytes`. */
const defaultMaxMessageBytes = 1_048_588;
const limitName = 'max.message.bytes';
const freshMs = 10_000;
const freshAfterFailureMs = 1_000;

interface Known {
  readonly maxBytes: number;
  readonly staleAtMs: number;
}

/**
 * The largest record batch that each topic takes, as its configuration says.
 *
 * Read at first use and again when it is 10 s old; the first call waits for it, later ones use what is known. It is
 * only an estimate that saves refused batches: the broker has the last word.
 */
export class TopicSizeLimits {
  readonly #client: KafkaClient;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<number>>();

  constructor(client: KafkaClient) {
    this.#client = client;
  }

  /** The limit in bytes; Kafka's default where it cannot be read, for example for want of permission. */
  async maxBytes(address: string): Promise<number> {
    const known = this.#known.get(address);
    if (known !== undefined && known.staleAtMs > performance.now()) return known.maxBytes;
    const reading = this.#reading.get(address) ?? this.#read(address);
    return known?.maxBytes ?? reading;
  }

  /** Waits until nothing is being read any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#reading.values());
  }

  #read(address: string): Promise<number> {
    const reading = this.#client
      .withAdmin((admin) => readLimit(admin, address))
      .then(
        (maxBytes) => ({ maxBytes, staleAtMs: performance.now() + freshMs }),
        () => ({
          maxBytes: this.#known.get(address)?.maxBytes ?? defaultMaxMessageBytes,
          staleAtMs: performance.now() + freshAfterFailureMs,
        }),
      )
      .then((known) => {
        this.#known.set(address, known);
        this.#reading.delete(address);
        return known.maxBytes;
      });
    this.#reading.set(address, reading);
    return reading;
  }
}

async function readLimit(admin: Admin, address: string): Promise<number> {
  const answer = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ configNames: [limitName], name: address, type: kafkajs().ConfigResourceTypes.TOPIC }],
  });
  const entry = answer.resources[0]?.configEntries.find(({ configName }) => configName === limitName);
  const maxBytes = Number(entry?.configValue);
  return Number.isInteger(maxBytes) && maxBytes > 0 ? maxBytes : defaultMaxMessageBytes;
}
