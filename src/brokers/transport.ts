import type { ConnectionOptions } from 'node:tls';
import type { Capabilities } from './capabilities.ts';

/** One message as a transport receives it. The relay has already ordered, deduplicated and bounded the batch. */
export interface OutgoingMessage {
  /** UUID of the row. The consumer receives it and drops duplicates by it. */
  readonly id: string;
  /** Messages of one topic with the same key keep their order. `null`: no order. */
  readonly key: string | null;
  /** The body, exactly as it was stored. */
  readonly payload: string;
  /** All headers, including CloudEvents; names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A batch for one address. The messages of each key must arrive in this order. */
export interface OutgoingBatch {
  /** The destination, for example a Kafka topic, an exchange or a URL. */
  readonly address: string;
  /** Pinned number of partitions, from {@link Transport.partitionCount}; 1 if the transport has no partitions. */
  readonly partitions: number;
  /** At least one. */
  readonly messages: readonly OutgoingMessage[];
  /** Fires when the relay gives up the batch (shutdown, lost lease): stop sending as soon as possible. */
  readonly signal: AbortSignal;
}

/**
 * The outcome of one message.
 *
 * - `acknowledged`: the broker confirmed it. An offset that is not an integer is not kept in the row.
 * - `rejected`: refused for now, certainly not stored; it is retried later and counts as an attempt.
 * - `permanent`: refused permanently, certainly not stored; it becomes failed.
 * - `ambiguous`: it is unknown whether it was stored; it is retried and can no longer be canceled.
 * - `blocked`: not sent, because an earlier message of its key was not acknowledged. `onWire` is true if it may have been
 *   stored nevertheless, by a request that contained both and got no clear answer.
 * - `deferred`: not delivered because the topic or the transport is unreachable; no attempt is spent. `onWire` is true if it
 *   may have been stored nevertheless.
 */
export type PublishOutcome =
  | { readonly kind: 'acknowledged'; readonly partition: number | null; readonly offset: string | null }
  | { readonly kind: 'rejected'; readonly error: string }
  | { readonly kind: 'permanent'; readonly error: string }
  | { readonly kind: 'ambiguous'; readonly error: string }
  | { readonly kind: 'blocked'; readonly onWire?: boolean }
  | { readonly kind: 'deferred'; readonly onWire: boolean };

/** Why nothing more can be sent for now, to this topic or to any topic of the transport. */
export interface Hold {
  /** What cannot be reached. */
  readonly scope: 'topic' | 'transport';
  /**
   * For display, for example `connect ECONNREFUSED 127.0.0.1:9092`. Whoever sees the topic sees it, so it must have nothing of a
   * message, which an answer may repeat.
   */
  readonly reason: string;
}

/** The result of a batch. */
export interface PublishResult {
  /** One per message, in the order of the batch. */
  readonly outcomes: readonly PublishOutcome[];
  /** Present if and only if an outcome is `deferred`. */
  readonly hold?: Hold;
}

/**
 * Sends messages to a broker. `transportContract` of `temporal-outbox/testing` checks whether an implementation follows the
 * rules.
 *
 * Rules: `publish` never throws because of a broker; it returns an outcome per message. Once a message of a key is not
 * acknowledged, no later message of that key is sent: its outcome is `blocked`, or `deferred` in a hold. A transport does not
 * retry; the relay does. It connects on first use, and can be used again after {@link Transport.close}. What its broker can do
 * besides is in {@link Capabilities}.
 */
export interface Transport extends Capabilities {
  /** Name for display and metrics, for example `kafka`. */
  readonly name: string;
  /** Where it connects, for display: addresses without credentials. Absent if it connects to nothing. */
  readonly endpoint?: string;
  /** Sends a batch, and resolves when the outcome of each message is known. */
  publish(batch: OutgoingBatch): Promise<PublishResult>;
  /** Loads what the first batch needs, so that it need not wait for it; a relay that starts calls it. Connects to nothing. */
  prepare?(): void;
  /**
   * Reads settings that are functions, such as `env('NAME')`; a relay calls it before anything else. It throws an OutboxError
   * if one is missing or wrong: then the relay does not start. Absent if there are none, or {@link Transport.endpoint} reads them.
   */
  check?(): void;
  /** Resolves if the address can be reached now, which ends a hold; otherwise rejects with the reason. */
  probe(address: string): Promise<void>;
  /**
   * Asks for name and version of the server, for example `RabbitMQ 4.1.0`, for display. Absent if servers do not say.
   * Rejects where it cannot be asked.
   */
  server?(): Promise<string>;
  /** Its TLS options as they were given: relays report when a certificate in them (`cert`, `ca`) expires. Absent if it has none. */
  tls?(): boolean | Pick<ConnectionOptions, 'ca' | 'cert'> | undefined;
  /** The current number of partitions of the address. Absent if the transport has no partitions. */
  partitionCount?(address: string): Promise<number>;
  /** Closes connections. Running calls of `publish` are settled first, or answer `deferred`. */
  close(): Promise<void>;
}
