import type * as OpenTelemetry from '@opentelemetry/api';
import { type Meter, meterFrom } from './meter.ts';

/** `undefined`: not loaded yet; `null`: not installed. */
let api: typeof OpenTelemetry | null | undefined;
let loading: Promise<void> | undefined;
/** Kept once it is found: an application sets up its provider once, perhaps after its first message. */
let meter: Meter | undefined;

/** Counts messages that were written in a transaction. Costs nothing measurable without a provider of metrics. */
export function countStored(topic: string, count: number): void {
  if (api === null) return;
  if (api === undefined) {
    loading ??= load();
    void loading.then(() => countStored(topic, count));
    return;
  }
  meter ??= meterFrom(api);
  meter?.add('stored', count, { 'messaging.destination.name': topic });
}

async function load(): Promise<void> {
  api = await import('@opentelemetry/api').catch(() => null);
}
