import type { ConfirmChannel, Message } from 'amqplib';
import { reasonOf, textOf } from '../../../core/reason.ts';
import type { SendOutcome } from '../../send-by-key.ts';
import type { OutgoingMessage } from '../../transport.ts';
import { type Link, silence } from '../client/link.ts';
import { codeOf } from '../client/reason.ts';
import { maxBytesIn, type RabbitmqFailure, rabbitmqFailure, refusesRoutingKey } from './failure.ts';
import { propertiesOf } from './properties.ts';

/** A message without an outcome yet. */
interface Flight {
  readonly id: string;
  readonly bytes: number;
  readonly key: string;
  readonly sentAtMs: number;
  /** Why the server returned it. */
  returned: string | undefined;
  settle(outcome: SendOutcome): void;
}

const accessRefused = 403;
const acknowledged: SendOutcome = { kind: 'acknowledged', partition: null, offset: null };

/** How a channel publishes to one exchange. */
export interface ExchangeUse {
  readonly address: string;
  readonly withinMs: number;
  readonly routingKey: (message: OutgoingMessage) => string;
}

/**
 * A channel in confirm mode for one exchange, because a missing or forbidden exchange closes the channel.
 *
 * The first message is sent alone: if the channel closes, the server has refused that message. Later, several may be in
 * flight, and it is unknown which of them were processed.
 */
export class ExchangeChannel {
  readonly #channel: ConfirmChannel;
  readonly #link: Link;
  readonly #use: ExchangeUse;
  /** In the order of sending. */
  readonly #flights = new Set<Flight>();
  readonly #watch: NodeJS.Timeout;
  #closing = false;
  #failure: RabbitmqFailure | undefined;
  #refused: string | undefined;
  #unconfirmed: string | undefined;
  /** The outcome of the first message; `true` once it is known. */
  #first: Promise<SendOutcome> | true | undefined;
  /** The largest message that the server accepts, in bytes, if known: it reports its limit only when a message exceeds it. */
  #maxBytes = Infinity;
  #onMaxBytes: (bytes: number) => void = () => undefined;

  constructor(channel: ConfirmChannel, link: Link, use: ExchangeUse) {
    this.#channel = channel;
    this.#link = link;
    this.#use = use;
    channel.on('error', (error) => {
      this.#failure ??= rabbitmqFailure(error);
      const { alone, reason } = this.#failure;
      if (codeOf(error) === accessRefused && alone === 'hold') this.#refused = reason;
    });
    channel.on('return', (message) => this.#returned(message));
    // Before amqplib's own listener, which rejects every message with a generic error.
    channel.prependListener('close', () => this.#closed());
    this.#watch = setInterval(() => this.#look(), use.withinMs / 10);
  }

  /** Whether it accepts no more messages. */
  get ended(): boolean {
    return this.#closing;
  }

  /** Why this user may not write to the exchange; `undefined` if the server has not refused it. */
  get refused(): string | undefined {
    return this.#refused;
  }

  /** Why it ended, if a message stayed without a confirmation while the server answered otherwise; else `undefined`. */
  get unconfirmed(): string | undefined {
    return this.#unconfirmed;
  }

  /** Sets the largest message size, and the callback for when the server reports its limit. */
  limit(maxBytes: number, tell: (bytes: number) => void): void {
    this.#maxBytes = maxBytes;
    this.#onMaxBytes = tell;
  }

  /** Sends one message, and resolves with its outcome. */
  send(message: OutgoingMessage): Promise<SendOutcome> {
    return this.#first === true ? this.#publish(message) : this.#sendFirst(message);
  }

  async #sendFirst(message: OutgoingMessage): Promise<SendOutcome> {
    if (this.#first !== undefined) {
      await this.#first;
      return this.#publish(message);
    }
    const first = this.#publish(message);
    this.#first = first;
    const outcome = await first;
    this.#first = true;
    return outcome;
  }

  /** Settles all messages in flight, because the server no longer reads from this connection. */
  blocked(reason: string): void {
    this.#settleAll(() => ({ kind: 'hold', hold: blockedHold(reason), onWire: true }));
  }

  #publish(message: OutgoingMessage): Promise<SendOutcome> {
    const { address, routingKey } = this.#use;
    const unsent = this.#unsent();
    if (unsent !== undefined) return Promise.resolve(unsent);
    const body = Buffer.from(message.payload);
    if (body.length > this.#maxBytes) return Promise.resolve(tooLarge(body.length, this.#maxBytes));
    let key: string;
    try {
      key = routingKey(message);
    } catch (error) {
      return Promise.resolve({ kind: 'rejected', error: `The routing key: ${reasonOf(error)}` });
    }
    return new Promise((resolve) => {
      const flight: Flight = {
        id: message.id,
        bytes: body.length,
        key,
        sentAtMs: performance.now(),
        returned: undefined,
        settle: (outcome) => {
          if (this.#flights.delete(flight)) resolve(outcome);
        },
      };
      this.#flights.add(flight);
      try {
        this.#channel.publish(address, key, body, propertiesOf(message), (error) =>
          this.#answered(flight, error),
        );
      } catch (error) {
        // Nothing was written: the channel is closed, or AMQP cannot encode the message.
        flight.settle(this.#unsent() ?? { kind: 'permanent', error: reasonOf(error) });
      }
    });
  }

  /** The outcome if nothing can be sent now; otherwise `undefined`. */
  #unsent(): SendOutcome | undefined {
    const { blocked } = this.#link;
    if (this.#closing) {
      const { reason, scope } =
        this.#failure ?? rabbitmqFailure(this.#link.reason ?? new Error('The channel is closed.'));
      return { kind: 'hold', hold: { scope, reason }, onWire: false };
    }
    return blocked === undefined ? undefined : { kind: 'hold', hold: blockedHold(blocked), onWire: false };
  }

  #answered(flight: Flight, error: unknown): void {
    if (error === null || error === undefined) {
      const { returned } = flight;
      flight.settle(returned === undefined ? acknowledged : { kind: 'rejected', error: returned });
    } else if (!this.#closing) {
      // It goes to every other queue of the exchange nevertheless, if several get it.
      flight.settle({
        kind: 'ambiguous',
        error: `A queue of ${this.#use.address} refused it (nack): it may be full. Other queues may have it.`,
      });
    }
  }

  /** Records the reason; the server confirms a returned message afterwards. */
  #returned({ fields, properties }: Message): void {
    const replyCode: unknown = Reflect.get(fields, 'replyCode');
    const replyText: unknown = Reflect.get(fields, 'replyText');
    const why = `${textOf(replyCode)} ${textOf(replyText)}: the exchange ${fields.exchange} has no queue for the routing key ${JSON.stringify(fields.routingKey)}.`;
    for (const flight of this.#flights) if (flight.id === properties.messageId) flight.returned = why;
  }

  #closed(): void {
    this.#closing = true;
    clearInterval(this.#watch);
    // If the connection ends, its reason arrives after its channels have closed.
    queueMicrotask(() => {
      this.#failure ??= rabbitmqFailure(this.#link.reason ?? new Error('The channel was closed.'));
      this.#settleFailed(this.#failure);
    });
  }

  /**
   * Settles all messages in flight. Of several, only one that is too large or has a refused routing key can be identified as
   * the cause: earlier ones may be stored, later ones are not.
   */
  #settleFailed({ alone, reason, scope, stored }: RabbitmqFailure): void {
    const maxBytes = maxBytesIn(reason);
    if (maxBytes !== undefined) this.#onMaxBytes(maxBytes);
    const only = this.#flights.size === 1;
    let found = false;
    this.#settleAll(({ bytes, key }) => {
      const named = (maxBytes !== undefined && bytes > maxBytes) || refusesRoutingKey(reason, key);
      const toBlame = only || (!found && named);
      const behind = found;
      found ||= toBlame;
      if (toBlame && alone !== 'hold') return { kind: alone, error: reason };
      return { kind: 'hold', hold: { scope, reason }, onWire: stored || !(toBlame || behind) };
    });
  }

  #settleAll(outcomeOf: (flight: Flight) => SendOutcome): void {
    for (const flight of this.#flights) flight.settle(outcomeOf(flight));
  }

  #look(): void {
    const [oldest] = this.#flights;
    const { withinMs } = this.#use;
    if (oldest === undefined || this.#closing || performance.now() - oldest.sentAtMs < withinMs) return;
    void this.#overdue();
  }

  /** Finds out whether the server does not answer at all, or only a queue behind the exchange does not confirm. */
  async #overdue(): Promise<void> {
    const { address, withinMs } = this.#use;
    clearInterval(this.#watch);
    try {
      await this.#link.ask(async (model) => (await model.createChannel()).close());
    } catch {
      // The connection has ended, which settles everything.
      return;
    }
    const reason = `${silence(withinMs)} It answers otherwise: a queue of ${address} may have lost its majority.`;
    this.#failure ??= { scope: 'topic', alone: 'hold', stored: true, reason };
    this.#unconfirmed = reason;
    this.#closing = true;
    this.#settleFailed(this.#failure);
    void this.#channel.close().catch(() => undefined);
  }
}

function blockedHold(reason: string): { readonly scope: 'transport'; readonly reason: string } {
  return { scope: 'transport', reason: `The server blocks its publishers: ${reason}.` };
}

function tooLarge(bytes: number, maxBytes: number): SendOutcome {
  return {
    kind: 'permanent',
    error: `The message has ${bytes} bytes; the server takes ${maxBytes} (max_message_size).`,
  };
}
