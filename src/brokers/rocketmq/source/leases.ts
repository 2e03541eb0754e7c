import type { ChangeInvisibleDurationResponse } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import { rest } from '../../../core/rest.ts';
import { clientLibrary } from '../client/client-library.ts';
import { RefusedRequest } from '../client/failure.ts';
import { protocolDuration } from '../client/protocol-duration.ts';
import type { Proxies } from '../client/proxies.ts';
import { resource } from '../client/route.ts';
import type { LeasedMessage } from './leased-message.ts';

/** Maximum of concurrent requests about single messages. */
const sideBySide = 16;
const acknowledgements = { tries: 3, againMs: 200 } as const;

/** Renews, releases and acknowledges the messages that a member of a group holds. */
export class Leases {
  readonly #proxies: Proxies;
  readonly #group: string;

  constructor(proxies: Proxies, group: string) {
    this.#proxies = proxies;
    this.#group = group;
  }

  /** Acknowledges messages. If that fails, they are delivered again, and the inbox drops them. */
  async acknowledge(messages: readonly LeasedMessage[]): Promise<void> {
    for (const message of messages) message.done = true;
    // A renewal in flight replaces the receipt, and the old receipt acknowledges nothing.
    await Promise.all(messages.map(async ({ renewing }) => renewing));
    await Promise.all([...byRequest(messages).values()].map((some) => this.#acknowledge(some)));
  }

  /** Extends the invisible time of these messages, and marks those that are lost. */
  async renew(messages: readonly LeasedMessage[]): Promise<void> {
    const { invisibleMs } = this.#proxies.connection;
    await inTurns(messages, async (message) => {
      if (message.done || message.lost) return;
      message.renewing = this.#renew(message, invisibleMs);
      await message.renewing;
    });
  }

  /** Makes these messages visible to other members at once. */
  async release(messages: readonly LeasedMessage[]): Promise<void> {
    await inTurns(messages, (message) => this.#change(message, 0).catch(() => undefined));
  }

  async #renew(message: LeasedMessage, invisibleMs: number): Promise<void> {
    const askedAtMs = performance.now();
    try {
      await this.#change(message, invisibleMs);
      message.untilMs = askedAtMs + invisibleMs;
    } catch (error) {
      // An unreachable proxy may return before the time is over; an invalid receipt stays invalid.
      if (error instanceof RefusedRequest && error.status === 'INVALID_RECEIPT_HANDLE') message.lost = true;
    }
    if (performance.now() >= message.untilMs) message.lost = true;
  }

  async #acknowledge(messages: readonly LeasedMessage[]): Promise<void> {
    const { requests } = clientLibrary();
    const [first] = messages;
    if (first === undefined) return;
    const entries = messages.map(({ messageId, receipt }) =>
      new requests.AckMessageEntry().setMessageId(messageId).setReceiptHandle(receipt),
    );
    const request = new requests.AckMessageRequest()
      .setGroup(resource(this.#proxies, this.#group))
      .setTopic(resource(this.#proxies, first.incoming.address))
      .setEntriesList(entries);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#proxies.insist(first.endpoint, (client, metadata, options, done) =>
          client.ackMessage(request, metadata, options, done),
        );
        return;
      } catch (error) {
        if (error instanceof RefusedRequest || tries === acknowledgements.tries) return;
        await rest(acknowledgements.againMs);
      }
    }
  }

  async #change(message: LeasedMessage, ms: number): Promise<void> {
    const { requests } = clientLibrary();
    const request = new requests.ChangeInvisibleDurationRequest()
      .setGroup(resource(this.#proxies, this.#group))
      .setTopic(resource(this.#proxies, message.incoming.address))
      .setMessageId(message.messageId)
      .setReceiptHandle(message.receipt)
      .setInvisibleDuration(protocolDuration(ms));
    const answer = await this.#proxies.insist<ChangeInvisibleDurationResponse>(
      message.endpoint,
      (client, metadata, options, done) => client.changeInvisibleDuration(request, metadata, options, done),
    );
    message.receipt = answer.getReceiptHandle() || message.receipt;
  }
}

/** Groups messages that one request can acknowledge. */
function byRequest(messages: readonly LeasedMessage[]): Map<string, LeasedMessage[]> {
  const groups = new Map<string, LeasedMessage[]>();
  for (const message of messages) {
    const name = `${message.endpoint} ${message.incoming.address}`;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [message]);
    else known.push(message);
  }
  return groups;
}

async function inTurns(
  messages: readonly LeasedMessage[],
  work: (message: LeasedMessage) => Promise<void>,
): Promise<void> {
  const left = messages.values();
  const run = async (): Promise<void> => {
    for (const message of left) await work(message);
  };
  await Promise.all(Array.from({ length: Math.min(sideBySide, messages.length) }, run));
}
