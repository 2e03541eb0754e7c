import { OutboxError } from '../../../src/core/errors.ts';
import type { Environment, ServerSource } from '../local-options.ts';

/**
 * The sources of a server, in the order in which they are tried.
 *
 * An address given by the user always wins. Under `CI=true` installed programs are not used, only the pinned versions
 * from the registries.
 */
export function sourceOrder(address: string | undefined, env: Environment): readonly ServerSource[] {
  if (address !== undefined && address !== '') return ['address'];
  return env['CI'] === 'true' ? ['registry'] : ['path', 'docker', 'registry'];
}

/** The result of trying one source: something to run, or the reason why there is nothing. */
export type Candidate<T> = { readonly found: T } | { readonly missing: string };

/** How to try one source. */
export type Search<T> = () => Promise<Candidate<T>>;

/**
 * The first offer, in the given order.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` with the reason of every source.
 */
export async function firstOffer<T>(
  server: string,
  order: readonly ServerSource[],
  searches: Readonly<Partial<Record<ServerSource, Search<T>>>>,
): Promise<{ readonly source: ServerSource; readonly found: T }> {
  const reasons: string[] = [];
  for (const source of order) {
    const offer = await searches[source]?.();
    if (offer === undefined) continue;
    if ('found' in offer) return { source, found: offer.found };
    reasons.push(`${source}: ${offer.missing}`);
  }
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `${server} cannot be started here. ${reasons.join(' ')}`,
    {
      details: { server, reasons },
    },
  );
}

/** Maps the value of an offer, if there is one. */
export async function mapOffer<A, B>(
  offer: Candidate<A>,
  make: (found: A) => B | Promise<B>,
): Promise<Candidate<B>> {
  return 'found' in offer ? { found: await make(offer.found) } : offer;
}
