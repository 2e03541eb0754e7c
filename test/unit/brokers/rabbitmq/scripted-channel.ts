import { EventEmitter } from 'node:events';
import type { ChannelModel, ConfirmChannel, Options } from 'amqplib';
import { vi } from 'vitest';
import { Link } from '../../../../src/brokers/rabbitmq/client/link.ts';
import { ExchangeChannel } from '../../../../src/brokers/rabbitmq/transport/exchange-channel.ts';
import type { SendOutcome } from '../../../../src/brokers/send-by-key.ts';
import type { OutgoingMessage } from '../../../../src/brokers/transport.ts';

interface Published {
  readonly exchange: string;
  readonly key: string;
  readonly body: string;
  readonly properties: Options.Publish;
  readonly answer: (error: unknown) => void;
}

/** A channel of a server that answers when a test lets it. */
class ScriptedChannel extends EventEmitter {
  readonly published: Published[] = [];
  closed = 0;
  /** What a message throws that is published. */
  broken: (() => Error) | undefined;

  publish(
    exchange: string,
    key: string,
    body: Buffer,
    properties: Options.Publish,
    answer: (error: unknown) => void,
  ): boolean {
    if (this.broken !== undefined) throw this.broken();
    this.published.push({ exchange, key, body: body.toString(), properties, answer });
    return true;
  }

  /** Confirms the messages with these numbers, or refuses them. */
  confirm(numbers: readonly number[], error: unknown = null): void {
    for (const number of numbers) this.published[number]?.answer(error);
  }

  /** A queue that lost its majority may keep a channel from answering this, too. */
  close(): Promise<void> {
    this.closed += 1;
    return new Promise(() => undefined);
  }

  /** What a server does that closes a channel. */
  end(error?: Error): void {
    if (error !== undefined) this.emit('error', error);
    this.emit('close');
  }
}

export const withinMs = 1_000;

export function stage() {
  const asked = { channels: 0 };
  const model = Object.assign(new EventEmitter(), {
    async createChannel() {
      asked.channels += 1;
      return { close: async () => undefined };
    },
  });
  const socket = new AbortController();
  const link = new Link(model as unknown as ChannelModel, socket, withinMs);
  const scripted = new ScriptedChannel();
  const channel = new ExchangeChannel(scripted as unknown as ConfirmChannel, link, {
    address: 'orders',
    withinMs,
    routingKey({ id, key }) {
      if (id === 'unroutable') throw new Error('no route');
      return `to.${key}`;
    },
  });
  return { asked, channel, model, scripted };
}

type Stage = ReturnType<typeof stage>;

export const message = (id: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id,
  key: id,
  payload: '{}',
  headers: {},
  ...more,
});

/** Sends a first message, which is confirmed, and then these, of which each is in flight. */
export async function inFlight({ channel, scripted }: Stage, ...messages: readonly OutgoingMessage[]) {
  void channel.send(message('first'));
  scripted.confirm([0]);
  await vi.advanceTimersByTimeAsync(0);
  return messages.map((one) => channel.send(one));
}

/** The outcomes so far; without one a message is open. */
export async function outcomes(
  sent: readonly Promise<SendOutcome>[],
): Promise<readonly (SendOutcome | 'open')[]> {
  const told: (SendOutcome | 'open')[] = sent.map(() => 'open');
  for (const [n, one] of sent.entries()) void one.then((settled) => (told[n] = settled));
  await vi.advanceTimersByTimeAsync(0);
  return told;
}

export const outcome = async (sent: Promise<SendOutcome>): Promise<SendOutcome | 'open' | undefined> =>
  (await outcomes([sent]))[0];

export const acknowledged = { kind: 'acknowledged', partition: null, offset: null };
export const closedWith = (code: number, text: string): Error => Object.assign(new Error(text), { code });

export const endOf = ({ ended, refused, unconfirmed }: ExchangeChannel) => ({ ended, refused, unconfirmed });
