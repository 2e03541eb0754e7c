import { loadedApi } from './api.ts';
import { type Meter, meterFrom } from './meter.ts';

/** Kept once it is found: an application sets up its provider once, perhaps after its first message. */
let meter: Meter | undefined;

/** Counts messages that were written in a transaction, by the API that the span of the sender has loaded. */
export function countStored(topic: string, count: number): void {
  const api = loadedApi();
  if (api === undefined) return;
  meter ??= meterFrom(api);
  meter?.add('stored', count, { 'messaging.destination.name': topic });
}
