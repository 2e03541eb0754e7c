import type { Source } from '../source.ts';
import type { ReaderPaces } from './queue-reader.ts';
import { redisSource, type SourceSettings } from './redis-source.ts';
import { StreamQueue } from './stream-queue.ts';

/** How a source of streams reaches its server, and what it takes over. */
export interface StreamSourceSettings extends SourceSettings {
  /** After which idle time entries are taken over that other consumers of the group were given. */
  readonly claimAfterMs: number;
}

/** Receives from streams, as the one consumer of a group: `XREADGROUP`, and `XACK` after the effects. */
export function redisStreamSource(settings: StreamSourceSettings, paces?: ReaderPaces): Source {
  const { claimAfterMs } = settings;
  return redisSource(
    settings,
    {
      name: 'redis-stream',
      queueOf: (address, { fromBeginning, group }) =>
        new StreamQueue(address, group, fromBeginning, claimAfterMs),
    },
    paces,
  );
}
