import type { Middleware } from 'temporal-outbox/consumer';
import { overRocketmq } from './broker.ts';

/** Keeps the payments of an account in hand until it is released, for the story. */
export interface Jam {
  /** For one of the consumers of the group. */
  of(consumer: number): Middleware;
  /** What a payment of this account would keep waiting: its consumer in Kafka, in RocketMQ its queue, which all consumers read. */
  placeOf(account: string): number | undefined;
  keep(account: string): void;
  release(): void;
}

export function newJam(): Jam {
  const places = new Map<string, number>();
  const kept = new Set<string>();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    of:
      (consumer) =>
      async ({ messages }, next) => {
        for (const { key, partition } of messages)
          if (key !== null) places.set(key, overRocketmq ? partition : consumer);
        if (messages.some(({ key }) => key !== null && kept.has(key))) await released;
        await next();
      },
    placeOf: (account) => places.get(account),
    keep: (account) => void kept.add(account),
    release,
  };
}
