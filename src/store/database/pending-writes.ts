import { shared } from '../../core/shared.ts';

/**
 * A write of somebody else's transaction. It notes whether anybody waits for it, because a write that nobody waits for is
 * forgotten by mistake.
 */
class Write<Answer> extends Promise<Answer> {
  /** What `then` and `catch` make is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  failed = false;
  seen = false;

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has it; this one notes that somebody calls it
  override then<Fulfilled = Answer, Rejected = never>(
    onFulfilled?: ((answer: Answer) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.seen = true;
    return super.then(onFulfilled, onRejected);
  }
}

/** By transaction: writes that run, and those that have failed. */
const writes = shared('pending-writes', () => new WeakMap<object, Set<Write<unknown>>>());

/** Makes a write part of its transaction, so that {@link withItsWrites} waits for it. */
export function partOf<Answer>(tx: unknown, work: () => Promise<Answer>): Promise<Answer> {
  // Refused by the work itself.
  if (!canBeKey(tx)) return work();
  const own = writes.get(tx) ?? new Set();
  writes.set(tx, own);
  const done = work();
  const write = new Write<Answer>((resolve, reject) => void done.then(resolve, reject));
  own.add(write);
  done.then(
    () => own.delete(write),
    () => void (write.failed = true),
  );
  return write;
}

/**
 * Does the work of a transaction, and waits for the writes that it has begun and not awaited, so that they are in what is
 * committed or rolled back.
 *
 * @throws what `work` throws; otherwise the error of a write that ends after it, or that failed before and that nobody awaited
 */
export async function withItsWrites<Result>(tx: unknown, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    await allWritten(tx);
    return result;
  } catch (error) {
    // Their errors follow from this one, and would end the process if nobody heard them.
    await allWritten(tx).catch(() => undefined);
    throw error;
  }
}

async function allWritten(tx: unknown): Promise<void> {
  const own = canBeKey(tx) ? writes.get(tx) : undefined;
  if (own === undefined) return;
  while (own.size > 0) {
    const forgotten = [...own].filter(({ failed, seen }) => !failed || !seen);
    own.clear();
    const ends = await Promise.allSettled(forgotten);
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }
}

function canBeKey(tx: unknown): tx is object {
  return (typeof tx === 'object' && tx !== null) || typeof tx === 'function';
}
