import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AmqpFields } from './amqp-frames.ts';
import { type RabbitmqConsumer, ScriptedConnection } from './scripted-rabbitmq-connection.ts';

/** What a client asked, by the name of the method in amqplib. */
export interface RabbitmqQuestion {
  readonly connection: number;
  readonly channel: number;
  readonly name: string;
  readonly fields: AmqpFields;
}

/** What a client sent to an exchange. */
export interface ScriptedMessage {
  readonly connection: number;
  readonly channel: number;
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: string;
  readonly properties: AmqpFields;
}

/** Closes the channel, or with `connection` all of it. */
export interface RabbitmqRefusal {
  readonly code: number;
  readonly text: string;
  readonly connection?: true;
}

/** A server of AMQP that keeps nothing: a test says what it answers, and sees what it was asked. */
export class ScriptedRabbitmq {
  port = 0;
  readonly asked: RabbitmqQuestion[] = [];
  readonly published: ScriptedMessage[] = [];
  /** `<queue> <delivery tag>`, with `and before` if it was for all up to this one. */
  readonly acknowledged: string[] = [];
  /** Names that clients gave their connections, and their credentials. */
  readonly logins: { readonly name: unknown; readonly user: string }[] = [];
  readonly consumers = new Map<string, RabbitmqConsumer>();
  /** Exchanges and queues that are not there. A queue that is declared is made. */
  readonly missing = new Set<string>();
  /** Methods that are not answered at all; `greeting`: nothing is. */
  readonly mute = new Set<string>();
  version = '3.13.0';
  /** What is answered instead of what was asked for. */
  refuse: (question: RabbitmqQuestion) => RabbitmqRefusal | undefined = () => undefined;
  /** What credentials are refused with. */
  refuseLogin: (response: string) => string | undefined = () => undefined;
  /** What a message is answered. */
  confirm: (message: ScriptedMessage) => 'ack' | 'none' | RabbitmqRefusal = () => 'ack';
  readonly clients = new Set<ScriptedConnection>();
  #ever = 0;

  get url(): string {
    return `amqp://guest:secret@127.0.0.1:${this.port}`;
  }

  get connections(): { readonly ever: number; readonly open: number } {
    return { ever: this.#ever, open: this.clients.size };
  }

  /** How often this was asked, of this queue or exchange. */
  times(name: string, of?: string): number {
    return this.asked.filter((one) => one.name === name && (of === undefined || targetOf(one.fields) === of))
      .length;
  }

  accept(socket: Socket): void {
    this.#ever += 1;
    this.clients.add(new ScriptedConnection(this, socket, this.#ever));
  }

  /** Delivers messages with these ids to the consumer of a queue. */
  deliver(queue: string, ...ids: readonly string[]): void {
    const consumer = this.consumers.get(queue);
    if (consumer === undefined) throw new Error(`Nobody receives from ${queue}.`);
    for (const id of ids) consumer.client.deliver(consumer, id);
  }

  /** Ends the consumer of a queue, as a server does whose queue is deleted. */
  cancel(queue: string): void {
    const consumer = this.consumers.get(queue);
    this.consumers.delete(queue);
    consumer?.client.send(consumer.channel, 'BasicCancel', { consumerTag: consumer.tag, nowait: true });
  }

  /** Accepts no messages for this reason; without one, again. */
  block(reason?: string): void {
    for (const client of this.clients)
      if (reason === undefined) client.send(0, 'ConnectionUnblocked');
      else client.send(0, 'ConnectionBlocked', { reason });
  }

  cut(): void {
    for (const client of this.clients) client.cut();
  }
}

function targetOf(fields: AmqpFields): unknown {
  return fields['queue'] ?? fields['exchange'];
}

export async function scriptedRabbitmq(): Promise<ScriptedRabbitmq> {
  const scripted = new ScriptedRabbitmq();
  const server = createServer((socket) => scripted.accept(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scripted.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.close();
    scripted.cut();
  });
  return scripted;
}
