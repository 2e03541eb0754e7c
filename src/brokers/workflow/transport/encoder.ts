import type { Client } from '@temporalio/client';
import { EncodingFailure } from './encoding-failure.ts';
import { inTime } from './in-time.ts';
import type { WorkflowMessage } from './workflow-options.ts';

type DataConverter = Client['options']['loadedDataConverter'];
type Payloads = Parameters<DataConverter['payloadCodecs'][number]['encode']>[0];

/** Each message begins with a text, its id: a converter and codecs that can encode any message can encode this. */
const probed = 'probe';

/** Encodes by the data converter of the settings, whose codecs may call a server of their own. */
export class Encoder {
  readonly #converter: DataConverter;
  readonly #withinMs: number;

  /** @param withinMs time limit for one message */
  constructor(converter: DataConverter, withinMs: number) {
    this.#converter = converter;
    this.#withinMs = withinMs;
  }

  /** The arguments of a workflow or signal: id and payload, then key and headers. @throws EncodingFailure */
  async arguments({ headers, id, key, payload }: WorkflowMessage): Promise<{ readonly payloads: Payloads }> {
    const plain = this.#converted([id, payload, { key, headers }]);
    try {
      return { payloads: await this.#coded(plain) };
    } catch (error) {
      if (refusesForGood(error)) throw new EncodingFailure(error, 'refused');
      await this.probe();
      throw new EncodingFailure(error, 'message');
    }
  }

  /** Resolves if the codecs encode something. @throws EncodingFailure */
  async probe(): Promise<void> {
    const plain = this.#converted([probed]);
    try {
      await this.#coded(plain);
    } catch (error) {
      throw new EncodingFailure(error, 'codec');
    }
  }

  /** A converter of payloads asks nobody, so it fails at every try. */
  #converted(values: readonly unknown[]): Payloads {
    try {
      return values.map((value) => this.#converter.payloadConverter.toPayload(value));
    } catch (error) {
      throw new EncodingFailure(error, 'refused');
    }
  }

  async #coded(plain: Payloads): Promise<Payloads> {
    const coding = async () => {
      let payloads = plain;
      for (const codec of this.#converter.payloadCodecs) payloads = await codec.encode(payloads);
      return payloads;
    };
    return inTime(coding(), this.#withinMs, `no answer within ${this.#withinMs} ms`);
  }
}

/** What Temporal's own errors say of a failure that no retry mends. */
function refusesForGood(error: unknown): boolean {
  return error instanceof Error && 'nonRetryable' in error && error.nonRetryable === true;
}
