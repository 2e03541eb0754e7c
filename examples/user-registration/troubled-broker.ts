import { setTimeout as delay } from 'node:timers/promises';
import type { OutgoingMessage, PublishOutcome, Transport } from 'temporal-outbox/transports';

/** A broker with faults, for the story. */
export interface TroubledBroker {
  readonly transport: Transport;
  /** The payload of every message that it has stored, copies included. */
  readonly stored: string[];
  /** The payload of every message that it has refused. */
  readonly refused: string[];
  /** Refuses the next sends of a payload that contains this text. */
  refuse(text: string, times: number): void;
  /** Acknowledges so much later than it stores. */
  acknowledgeAfterMs: number;
}

const refusal: PublishOutcome = { kind: 'rejected', error: 'The broker is overloaded.' };

export function troubledBroker(real: Transport): TroubledBroker {
  const refusals = new Map<string, number>();
  const refuses = ({ payload }: OutgoingMessage): boolean => {
    const [text, times] = [...refusals].find(([one]) => payload.includes(one)) ?? [];
    if (text === undefined || times === undefined || times === 0) return false;
    refusals.set(text, times - 1);
    return true;
  };
  const broker: TroubledBroker = {
    stored: [],
    refused: [],
    refuse: (text, times) => void refusals.set(text, times),
    acknowledgeAfterMs: 0,
    transport: {
      ...real,
      async publish(batch) {
        const bad = new Set(batch.messages.filter(refuses));
        broker.refused.push(...[...bad].map(({ payload }) => payload));
        const messages = batch.messages.filter((message) => !bad.has(message));
        if (messages.length === 0) return { outcomes: batch.messages.map(() => refusal) };
        broker.stored.push(...messages.map(({ payload }) => payload));
        const result = await real.publish({ ...batch, messages });
        await delay(broker.acknowledgeAfterMs);
        const answers = new Map(messages.map((message, at) => [message, result.outcomes[at]]));
        return { ...result, outcomes: batch.messages.map((message) => answers.get(message) ?? refusal) };
      },
    },
  };
  return broker;
}
