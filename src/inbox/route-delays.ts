import type { TopicDelays } from '../store/inbox/tries.ts';
import type { RouteOrRefusal } from './handling/arrived.ts';
import type { Route } from './route.ts';

/** The delays of a message: its handler's, else its consumer's. */
export function delaysOf<Tx>(
  name: 'retryMs' | 'quickRetriesMs',
  route: RouteOrRefusal<Tx> | undefined,
  ofConsumer: readonly number[],
): readonly number[] {
  return (route?.kind === 'route' ? route[name] : undefined) ?? ofConsumer;
}

/** Delay after a consumer died with a message whose topic has no handler here, so that another consumer takes it. */
const elsewhereMs = 30_000;

/** The delays of all topics that have a handler here. */
export function topicDelaysOf<Tx>(routes: readonly Route<Tx>[], ofConsumer: readonly number[]): TopicDelays {
  const byTopic = routes.map(({ retryMs, topic }) => [topic.name, retryMs ?? ofConsumer]);
  return { byTopic: JSON.stringify(Object.fromEntries(byTopic)), elsewhereMs };
}
