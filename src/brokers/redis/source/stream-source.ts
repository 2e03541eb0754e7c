import type { Source } from '../../source.ts';
import type { ReaderPaces } from './queue-reader.ts';
import { redisSource, type SourceSettings } from './redis-source.ts';
import { readingTogether } from './shared-reading.ts';
import { StreamQueue } from './stream-queue.ts';
import { readingAlone } from './stream-reading.ts';

/** How a stream source reaches its server, and when it claims entries. */
export interface StreamSourceSettings extends SourceSettings {
  /** The idle time after which entries that were delivered to other consumers of the group are claimed. */
  readonly claimAfterMs: number;
  /** True: one member of a group reads a stream at a time; false: all do, without order. */
  readonly order: boolean;
}

/** Receives from streams: `XREADGROUP`, and `XACK` after the effects. */
export function redisStreamSource(settings: StreamSourceSettings, paces?: ReaderPaces): Source {
  const { claimAfterMs, order } = settings;
  const readingOf = order ? readingAlone : readingTogether;
  return redisSource(
    settings,
    {
      name: 'redis-stream',
      queueOf: (address, { fromBeginning, group }) =>
        new StreamQueue({
          address,
          group,
          fromBeginning,
          claimAfterMs,
          reading: readingOf({ address, group }),
        }),
    },
    paces,
  );
}
