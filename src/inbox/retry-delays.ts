import type { Duration } from '../core/duration.ts';
import { listOf } from '../core/options/collections.ts';
import type { Reader } from '../core/options/reader.ts';
import { duration } from '../core/options/values.ts';

/** The option `retry`. */
export const retryDelays = delays();

/** The option `quickRetries`. */
export const quickRetryDelays = delays('10s');

function delays(longest?: Duration): Reader<readonly number[]> {
  return listOf(duration(0, longest), 'a list of at most 100 durations', { most: 100 });
}
