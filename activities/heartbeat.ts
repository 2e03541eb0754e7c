import { Context } from '@temporalio/activity';

/** Heartbeats on a timer, not from the work: a broker that stalls for seconds must not look like a dead process. */
const everyMs = 1_000;
/** Without progress for this long the work counts as stuck: heartbeats end, and Temporal runs it anew. */
const stuckAfterMs = 30_000;

/** Runs `work` with heartbeats for as long as it gets on; `work` calls `progress` whenever it does. */
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
