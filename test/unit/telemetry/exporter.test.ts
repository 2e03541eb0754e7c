import * as api from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { openExporter } from '../../../src/telemetry/exporter.ts';
import { meterFrom, type Observation } from '../../../src/telemetry/meter.ts';
import { messages } from '../../../src/watch/figures/counts.ts';
import { metricOf } from '../../../src/watch/metrics.ts';

test('what a gauge no longer observes is no longer exported, and a counter goes on', async ({
  onTestFinished,
}) => {
  const exporter = await openExporter(false);
  onTestFinished(() => exporter.stop());
  const meter = meterFrom(api);
  let observed: readonly Observation[] = [
    { value: 7, attributes: { topic: 'orders', state: 'failed' } },
    { value: 8, attributes: { topic: 'bills', state: 'failed' } },
  ];
  meter?.watch(metricOf('messages', messages), () => observed);
  meter?.add('expired', 5, { 'messaging.destination.name': 'orders' });
  const values = async (): Promise<readonly string[]> =>
    (await exporter.text())
      .split('\n')
      .flatMap(
        (line) => /^(outbox_messages\w*)\{.*"(orders|bills)".*\} (\d+)$/.exec(line)?.slice(1).join(' ') ?? [],
      )
      .toSorted();

  const counted = 'outbox_messages_expired_total orders 5';
  expect(await values()).toEqual(['outbox_messages bills 8', 'outbox_messages orders 7', counted]);
  observed = [{ value: 6, attributes: { topic: 'orders', state: 'failed' } }];
  expect(await values()).toEqual(['outbox_messages orders 6', counted]);
  observed = [];
  expect(await values()).toEqual([counted]);
});
