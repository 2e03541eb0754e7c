import { Context } from '@temporalio/activity';

/** Heartbeats are sent by a timer, not by the work: a broker that stalls for seconds must not look like a dead process. */
const everyMs = 1_000;
/** After this time without progress the work counts as stuck: heartbeats end, and Temporal retries the activity. */
const stuckAfterMs = 30_000;

/** Runs `work` with heartbeats while it makes progress, which it signals by calling `progress`. */
export async function withHeartbeat<Result>(
  work: (signal: AbortSignal, progress: () => void) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  let progressAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - progressAt < stuckAfterMs) context.heartbeat();
  }, everyMs);
  try {
    return await work(context.cancellationSignal, () => {
      progressAt = performance.now();
    });
  } finally {
    clearInterval(timer);
  }
}
