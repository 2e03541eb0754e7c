import { pass, soFar } from '../fixtures/fake-time.ts';

/** Of the real clock, which {@link pass} does not move. */
const realNow = performance.now.bind(performance);
const mostMs = 10_000;

/** Lets happen on sockets what needs no time, until this is so. For tests with `fakeTime`. */
export async function untilOnWire(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = realNow() + mostMs; realNow() < endMs; ) {
    if (await condition()) return;
    await pass(0);
  }
  throw new Error(`It did not happen: ${condition.toString()}`);
}

/** What a promise resolves to that needs no time, but answers on sockets. */
export async function overWire<Value>(promise: Promise<Value>): Promise<Value> {
  const told = soFar(promise);
  await untilOnWire(() => told.state !== 'open');
  return promise;
}
