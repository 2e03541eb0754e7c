import type { Source } from '../../source.ts';
import { ListQueue } from './list-queue.ts';
import type { ReaderPaces } from './queue-reader.ts';
import { redisSource, type SourceSettings } from './redis-source.ts';

/**
 * Receives from lists: values are moved to a second list until they are acknowledged.
 *
 * A list is a queue of one group, which always begins with the oldest message: a list does not record arrival times.
 */
export function redisListSource(settings: SourceSettings, paces?: ReaderPaces): Source {
  return redisSource(
    settings,
    { name: 'redis-list', queueOf: (address, { group }) => new ListQueue(address, group) },
    paces,
  );
}
