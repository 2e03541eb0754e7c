import { setTimeout as delay } from 'node:timers/promises';
import type { OutgoingMessage, PublishOutcome, Transport } from 'temporal-outbox/transports';

/** A broker with faults, for the story. */
export interface TroubledBroker {
  readonly transport: Transport;
  /** The payload of every message that it was asked to store. */
  readonly asked: string[];
  /** Refuses the next send of a payload that contains this text. */
  refuseOnce(text: string): void;
  /** Acknowledges so much later than it stores. */
  acknowledgeAfterMs: number;
}

export function troubledBroker(real: Transport): TroubledBroker {
  const refused = new Set<string>();
  const asked: string[] = [];
  const refuses = ({ payload }: OutgoingMessage): boolean => {
    const text = [...refused].find((one) => payload.includes(one));
    return text !== undefined && refused.delete(text);
  };
  const broker: TroubledBroker = {
    asked,
    refuseOnce: (text) => void refused.add(text),
    acknowledgeAfterMs: 0,
    transport: {
      ...real,
      async publish(batch) {
        asked.push(...batch.messages.map(({ payload }) => payload));
        const bad = new Set(batch.messages.filter(refuses));
        const messages = batch.messages.filter((message) => !bad.has(message));
        const result = await real.publish({ ...batch, messages });
        await delay(broker.acknowledgeAfterMs);
        const answers = new Map(messages.map((message, at) => [message, result.outcomes[at]]));
        const refusal: PublishOutcome = { kind: 'rejected', error: 'The broker is overloaded.' };
        return { ...result, outcomes: batch.messages.map((message) => answers.get(message) ?? refusal) };
      },
    },
  };
  return broker;
}
