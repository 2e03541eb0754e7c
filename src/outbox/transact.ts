import { sendNudge } from '../store/nudge.ts';

/** A Prisma client, as far as {@link transaction} needs it. */
export interface TransactionRunner<Tx> {
  $transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
}

/** Relays are told at most this often per client; what is committed in between rides along. */
const nudgeEveryMs = 5;

const nudges = new WeakMap<object, { lastAt: number; planned: boolean }>();

/**
 * Runs `work` in a transaction and, after the commit, wakes the relays, so that messages leave within a few
 * milliseconds instead of at the relay's next look.
 *
 * A lost wake-up delays a message by at most 100 ms. Nothing is sent when the transaction is rolled back.
 */
export async function transaction<Tx, Result>(
  prisma: TransactionRunner<Tx>,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const result = await prisma.$transaction(work);
  nudge(prisma);
  return result;
}

/** Never awaited and never failing: the commit stands whether or not a relay hears of it. */
function nudge<Tx>(prisma: TransactionRunner<Tx>): void {
  const state = nudges.get(prisma) ?? { lastAt: 0, planned: false };
  nudges.set(prisma, state);
  if (state.planned) return;
  const waitMs = state.lastAt + nudgeEveryMs - performance.now();
  if (waitMs <= 0) {
    notify(prisma, state);
    return;
  }
  state.planned = true;
  setTimeout(() => notify(prisma, state), waitMs).unref();
}

function notify<Tx>(prisma: TransactionRunner<Tx>, state: { lastAt: number; planned: boolean }): void {
  state.lastAt = performance.now();
  state.planned = false;
  void sendNudge({ query: async (text, values = []) => prisma.$queryRawUnsafe(text, ...values) }).catch(
    () => undefined,
  );
}
