import type { Source } from '../../source.ts';
import type { ReaderPaces } from './queue-reader.ts';
import { redisSource, type SourceSettings } from './redis-source.ts';
import { StreamQueue } from './stream-queue.ts';

/** How a stream source reaches its server, and when it claims entries. */
export interface StreamSourceSettings extends SourceSettings {
  /** The idle time after which entries that were delivered to other consumers of the group are claimed. */
  readonly claimAfterMs: number;
}

/** Receives from streams, as the only consumer of a group: `XREADGROUP`, and `XACK` after the effects. */
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
