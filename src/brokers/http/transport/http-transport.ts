import { identityOf } from '../../../core/chosen-id.ts';
import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import { type SendOne, type SendOutcome, sendByKey } from '../../send-by-key.ts';
import type { Hold, OutgoingBatch, OutgoingMessage, PublishResult, Transport } from '../../transport.ts';
import { takenHeader, toHttpHeaders } from '../client/http-headers.ts';
import type { Webhooks } from '../client/signatures.ts';
import { classifyAnswer, classifyFailure, failureReason } from './answer-class.ts';
import { HttpConnections } from './connections.ts';
import { type HttpOptions, type HttpSettings, httpSettings } from './http-options.ts';
import { type HttpTarget, httpTarget } from './http-target.ts';
import { secretParts } from './secret-parts.ts';
import { undici } from './undici.ts';

/** Time limit of a batch. With its last request, it stays below the time after which a lane counts as stuck. */
const sendForMs = 15_000;

/**
 * Delivers by HTTP: each message is a POST to the URL in its topic's address, signed according to Standard Webhooks.
 *
 * The body is the payload, `webhook-id` is the id by which inboxes know the message, CloudEvents are headers in binary mode
 * (`ce-type`, …), and the key is `ce-partitionkey`. A 2xx response acknowledges the message, 410 fails it permanently, other 4xx and 3xx reject
 * it; 5xx, a timeout or a lost connection is ambiguous. An unreachable server, or a 429 or 503 with Retry-After, holds the
 * address. Redirects are not followed.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without undici or standardwebhooks
 */
export function http(options: HttpOptions): Transport {
  undici();
  return new HttpTransport(httpSettings(options), sendForMs);
}

/** {@link http}, with the time limit of a batch. */
export class HttpTransport implements Transport {
  readonly name = 'http';
  readonly #settings: HttpSettings;
  readonly #batchMs: number;
  readonly #connections: HttpConnections;
  /** Addresses whose servers have sent Retry-After. */
  readonly #pauses = new Map<string, { readonly untilMs: number; readonly hold: Hold }>();

  constructor(settings: HttpSettings, batchMs: number) {
    this.#settings = settings;
    this.#batchMs = batchMs;
    this.#connections = new HttpConnections(settings);
  }

  check(): void {
    for (const name of ['webhooks', 'headers', 'tls'] as const) void this.#settings[name];
  }

  tls(): HttpSettings['tls'] {
    return this.#settings.tls;
  }

  async publish(batch: OutgoingBatch): Promise<PublishResult> {
    if (batch.messages.length === 0) return { outcomes: [] };
    let send: SendOne;
    try {
      send = this.#sender(batch.address);
    } catch (error) {
      return nothingSent(batch, reasonOf(error));
    }
    return sendByKey(batch, this.#settings.concurrency, send);
  }

  async probe(address: string): Promise<void> {
    const target = httpTarget(address);
    const pause = this.#pauseOf(address);
    if (pause !== undefined) throw unavailable(pause.reason);
    try {
      await this.#connections.probe(target);
    } catch (error) {
      throw unavailable(failureReason(asError(error), target.server), error);
    }
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Validates address, secret and headers before anything is sent. */
  #sender(address: string): SendOne {
    const target = httpTarget(address);
    const { webhooks, headers, permanentStatuses } = this.#settings;
    const rules = { server: target.server, hidden: secretParts(headers), permanentStatuses };
    const post = this.#connections.open();
    const endsAt = performance.now() + this.#batchMs;
    let answered = 0;
    return async (message) => {
      const hold =
        this.#pauseOf(address) ?? (performance.now() > endsAt ? this.#slow(target, answered) : undefined);
      if (hold !== undefined) return { kind: 'hold', hold, onWire: false };
      const taken = takenHeader(Object.keys(message.headers));
      if (taken !== undefined)
        return { kind: 'permanent', error: `A message may not have the header "${taken}" in HTTP.` };
      const result = await post(target, signedRequest(message, webhooks, headers));
      if (result.kind === 'failed') return classifyFailure(result.error, result.written, target.server);
      answered += 1;
      const { outcome, pauseMs } = classifyAnswer(result.answer, rules);
      this.#pause(address, outcome, pauseMs);
      return outcome;
    };
  }

  #pause(address: string, outcome: SendOutcome, pauseMs: number | undefined): void {
    if (outcome.kind === 'hold' && pauseMs !== undefined)
      this.#pauses.set(address, { untilMs: performance.now() + pauseMs, hold: outcome.hold });
  }

  #pauseOf(address: string): Hold | undefined {
    const pause = this.#pauses.get(address);
    if (pause === undefined || performance.now() < pause.untilMs) return pause?.hold;
    this.#pauses.delete(address);
    return undefined;
  }

  /** Ends a slow batch, so that the lane can settle what was answered. */
  #slow({ server }: HttpTarget, answered: number): Hold {
    const seconds = this.#batchMs / 1_000;
    const reason = `${server} is slow: it answered ${answered} messages in ${seconds} s; the rest follows`;
    return { scope: 'topic', reason };
  }
}

function signedRequest(
  message: OutgoingMessage,
  webhooks: Webhooks,
  headers: Readonly<Record<string, string>>,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const { key, headers: own, payload } = message;
  // Receivers drop repeats by it, and it alone is signed of what identifies the message.
  const signed = webhooks.sign(identityOf(message), payload, new Date());
  return { headers: { ...toHttpHeaders({ key, headers: own }), ...headers, ...signed }, body: payload };
}

function nothingSent({ messages }: OutgoingBatch, reason: string): PublishResult {
  const outcomes = messages.map(() => ({ kind: 'deferred', onWire: false }) as const);
  return { outcomes, hold: { scope: 'topic', reason } };
}

function unavailable(reason: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', reason, { cause });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(reasonOf(error));
}
