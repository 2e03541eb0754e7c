import { patiently } from '../../core/patience.ts';
import type { Running } from '../../core/running.ts';
import type { Topic } from '../../core/topic.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { ConsumerPlan } from '../consumer-plan.ts';
import { addressesOf, type SourceRoutes } from '../source-routes.ts';
import { assertWindow } from './window.ts';
import { WindowKeeper } from './window-keeper.ts';

/** Refuses a window that is too short, and makes the keeper of the processed ids. */
export async function startWindow<Tx extends Transaction>(
  { client, rules: { deadAddressOf, failedMs, group, startTimeoutMs, windowMs } }: ConsumerPlan<Tx>,
  sourceRoutes: readonly SourceRoutes<Tx>[],
  report: ConsumerReport,
  { health, stopping }: Running,
): Promise<WindowKeeper<Tx>> {
  for (const { name, source, routes } of sourceRoutes) {
    // Forever is long enough for every broker: it need not let this client ask.
    if (windowMs === Number.POSITIVE_INFINITY) break;
    const topics: Topic[] = routes.map(({ topic }) => topic);
    const redeliveryPeriodMs = await patiently(
      () => health.during(name, source.redeliveryPeriodMs(addressesOf(routes))),
      {
        signal: stopping,
        withinMs: startTimeoutMs,
        // A broker may still be starting, whatever it answers.
        passing: () => true,
        waiting: (error) => health.failed(name, error, { away: true }),
      },
    );
    health.mended(name);
    assertWindow({ group, windowMs, redeliveryPeriodMs, topics });
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
