import { setTimeout as delay } from 'node:timers/promises';
import type { Running } from '../../core/running.ts';
import type { Topic } from '../../core/topic.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { ConsumerPlan } from '../consumer-plan.ts';
import { addressesOf, type SourceRoutes } from '../source-routes.ts';
import { assertWindow } from './window.ts';
import { WindowKeeper } from './window-keeper.ts';

const againMs = 500;

/** Refuses a window that is too short, and makes the keeper of the processed ids. */
export async function startWindow<Tx extends Transaction>(
  { client, rules: { deadAddressOf, failedMs, group, startTimeoutMs, windowMs } }: ConsumerPlan<Tx>,
  sourceRoutes: readonly SourceRoutes<Tx>[],
  report: ConsumerReport,
  { health, stopping }: Running,
): Promise<WindowKeeper<Tx>> {
  for (const { name, source, routes } of sourceRoutes) {
    // For ever is long enough, whatever the broker says: it need not let this client ask.
    if (windowMs === Number.POSITIVE_INFINITY) break;
    const topics: Topic[] = routes.map(({ topic }) => topic);
    const horizonMs = await patiently(
      () => health.during(name, source.redeliveryHorizonMs(addressesOf(routes))),
      startTimeoutMs,
      stopping,
      (error) => health.failed(name, error, { away: true }),
    );
    health.mended(name);
    assertWindow({ group, windowMs, horizonMs, topics });
  }
  return new WindowKeeper({
    client,
    group,
    windowMs,
    failedMs,
    deadLetters: deadAddressOf !== undefined,
    failed: (error, retryInMs) => report({ type: 'window-failing', error, retryInMs }),
  });
}

/** Waits for a broker that may still be starting. */
async function patiently<Answer>(
  ask: () => Promise<Answer>,
  withinMs: number,
  stopping: AbortSignal,
  failed: (error: unknown) => void,
): Promise<Answer> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      failed(error);
      if (performance.now() + againMs >= endsAt) throw error;
      await delay(againMs, undefined, { signal: stopping });
    }
  }
}
