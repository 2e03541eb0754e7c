import type { Middleware } from 'temporal-outbox/consumer';

/** Keeps the payments of an account in hand until it is released, for the story. */
export interface Jam {
  /** For one of the consumers of the group. */
  of(consumer: number): Middleware;
  /** Which of them has last had a payment of this account. */
  consumerOf(account: string): number | undefined;
  keep(account: string): void;
  release(): void;
}

export function newJam(): Jam {
  const consumers = new Map<string, number>();
  const kept = new Set<string>();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    of:
      (consumer) =>
      async ({ messages }, next) => {
        const accounts = messages.flatMap(({ key }) => key ?? []);
        for (const account of accounts) consumers.set(account, consumer);
        if (accounts.some((account) => kept.has(account))) await released;
        await next();
      },
    consumerOf: (account) => consumers.get(account),
    keep: (account) => void kept.add(account),
    release,
  };
}
