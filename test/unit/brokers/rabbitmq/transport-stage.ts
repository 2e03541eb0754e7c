import { onTestFinished } from 'vitest';
import { amqplib } from '../../../../src/brokers/rabbitmq/client/amqplib.ts';
import type { PublishResult, Transport } from '../../../../src/brokers/transport.ts';
import { type RabbitmqOptions, rabbitmq } from '../../../../src/transports.ts';
import { fakeTimeUntilEnd, pass } from '../../../support/fixtures/fake-time.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';
import { type ScriptedRabbitmq, scriptedRabbitmq } from '../../../support/rabbitmq/scripted-rabbitmq.ts';
import { overWire } from '../../../support/rabbitmq/wire-time.ts';

interface Stage {
  readonly server: ScriptedRabbitmq;
  readonly transport: Transport;
  /** Sends messages with these ids, of which each is its own key. */
  readonly send: (address: string, ...ids: readonly string[]) => Promise<PublishResult>;
}

/** The transport, at a server that answers what the test sets, on a clock that moves only when it lets time pass. */
export async function stage(options: Partial<RabbitmqOptions> = {}): Promise<Stage> {
  const server = await scriptedRabbitmq();
  // It keeps the timers that it finds when it is loaded.
  amqplib();
  fakeTimeUntilEnd();
  const transport = rabbitmq({ url: server.url, requestTimeout: 1_000, heartbeat: '60s', ...options });
  onTestFinished(async () => {
    // What is in flight would keep it from closing.
    server.cut();
    const closed = transport.close();
    await pass(1_000);
    await overWire(closed);
  });
  return {
    server,
    transport,
    send: (address, ...ids) =>
      publishTo(transport, address, drafted(...ids.map((id) => ({ id, key: id, payload: id })))),
  };
}

export const unsent = { kind: 'deferred', onWire: false };
export const maybeStored = { kind: 'deferred', onWire: true };
export const acknowledged = { kind: 'acknowledged', partition: null, offset: null };
