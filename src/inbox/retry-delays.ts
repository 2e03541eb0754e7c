import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import type { RefuseOne } from '../core/options/option-names.ts';

const longestQuickRetryMs = 10_000;
const maxRetries = 100;

/** Milliseconds of the option `retry`. */
export function retryDelays(given: readonly Duration[], refuse: RefuseOne): readonly number[] {
  return delays('retry', given, { maxMs: longestDurationMs, most: '36,500 days' }, refuse);
}

/** Milliseconds of the option `quickRetries`. */
export function quickRetryDelays(given: readonly Duration[], refuse: RefuseOne): readonly number[] {
  return delays('quickRetries', given, { maxMs: longestQuickRetryMs, most: '10 s' }, refuse);
}

function delays(
  option: string,
  given: readonly Duration[],
  { maxMs, most }: { readonly maxMs: number; readonly most: string },
  refuse: RefuseOne,
): readonly number[] {
  if (!Array.isArray(given) || given.length > maxRetries)
    throw refuse(option, `a list of at most ${maxRetries} durations`);
  return given.map((delay: Duration, index) => {
    const valueMs = durationMs(delay);
    if (valueMs !== undefined && valueMs >= 0 && valueMs <= maxMs) return valueMs;
    throw refuse(`${option}[${index}]`, `a duration from 0 to ${most}`);
  });
}
