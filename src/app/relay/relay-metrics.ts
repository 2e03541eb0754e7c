import { errorTypeOf } from '../../core/error-type.ts';
import type { RelayEvent, RelayReport } from '../../relay/report.ts';
import type { Attributes, Meter } from '../../telemetry/meter.ts';

type OfType<Type extends RelayEvent['type']> = Extract<RelayEvent, { readonly type: Type }>;

/** Counts what the events of a relay say. */
export function relayMetrics(meter: Meter): RelayReport {
  return (event) => {
    switch (event.type) {
      case 'batch-settled':
        return batchSettled(meter, event);
      case 'attempt-failed':
        return meter.add('attemptsFailed', 1, failureOf(event));
      case 'failed':
        meter.add('attemptsFailed', 1, failureOf(event));
        return meter.add('messagesFailed', 1, failureOf(event));
      case 'expired':
        return meter.add('expired', 1, topicOf(event));
      case 'hold-began':
        return meter.add('holds', 1, topicOf(event));
      case 'hold-ended':
        meter.add('holds', -1, topicOf(event));
        // Its next owner goes on with it.
        if (!event.over) return undefined;
        return meter.record('holdDuration', event.lastedMs / 1_000, topicOf(event));
      case 'lane-acquired':
        meter.add('lanesOwned', 1, topicOf(event));
        return event.lapsed ? meter.add('takeovers', 1, topicOf(event)) : undefined;
      case 'lane-freed':
      case 'lane-lost':
        return meter.add('lanesOwned', -1, topicOf(event));
      case 'messages-confirmed':
        return meter.add('receipts', event.count, { ...topicOf(event), outcome: 'confirmed' });
      case 'messages-resent':
        return meter.add('receipts', event.count, { ...topicOf(event), outcome: 'resent' });
      case 'messages-unconfirmed':
        return meter.add('receipts', event.count, { ...topicOf(event), outcome: 'unconfirmed' });
      case 'reconciled':
        meter.add('reconciled', event.restarted, { action: 'restarted' });
        return meter.add('reconciled', event.ended, { action: 'ended' });
      case 'error':
        return meter.add('troubles', 1, {
          during: event.during,
          'error.type': errorTypeOf(event.error, true),
        });
      default:
        return undefined;
    }
  };
}

function batchSettled(meter: Meter, event: OfType<'batch-settled'>): void {
  const { acknowledged, delaysMs, latenessMs, publishMs, topic, transport } = event;
  const place = { 'messaging.system': transport, 'messaging.destination.name': topic };
  const sending = { ...place, 'messaging.operation.name': 'publish' };
  meter.add('sent', acknowledged, sending);
  meter.record('operationDuration', publishMs / 1_000, sending);
  for (const delayMs of delaysMs) meter.record('publishDelay', delayMs / 1_000, place);
  for (const lateMs of latenessMs) meter.record('lateness', lateMs / 1_000, place);
}

function topicOf({ topic }: { readonly topic: string }): Attributes {
  return { 'messaging.destination.name': topic };
}

function failureOf({ outcome, topic, transport }: OfType<'failed' | 'attempt-failed'>): Attributes {
  return { 'messaging.system': transport, ...topicOf({ topic }), 'error.type': outcome };
}
