/** Timers of Node are limited to about 24 days: one of a longer time fires at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** `setTimeout` for any time. @param ms more than 24 days: until it is cleared */
export function startTimer(then: () => void, ms: number): NodeJS.Timeout {
  // oxlint-disable-next-line no-restricted-globals -- the one place that knows their limit
  const start = setTimeout;
  if (ms <= longestTimerMs) return start(then, ms);
  const timer = start(() => void timer.refresh(), longestTimerMs);
  return timer;
}
