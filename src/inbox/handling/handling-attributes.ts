import { errorTypeOf } from '../../core/error-type.ts';
import { statedTime } from '../../core/written-time.ts';
import type { Attributes } from '../../telemetry/meter.ts';

/** Attributes of every metric of a group, however its messages arrive. @param topic `null`: the message names none, or none that counts */
export function handlingAttributes(system: string, topic: string | null, group: string): Attributes {
  return {
    'messaging.system': system,
    ...(topic !== null && { 'messaging.destination.name': topic }),
    'messaging.operation.name': 'process',
    'messaging.consumer.group.name': group,
  };
}

/** Attributes of what ended by an error; none without one. */
export function failureAttributes(error: unknown): Attributes {
  return error === undefined ? {} : { 'error.type': errorTypeOf(error) };
}

/** Seconds from the time that a message has to now; `undefined`: other senders may give none. */
export function sinceStoredS(storedAt: string | undefined): number | undefined {
  const at = statedTime(storedAt);
  return at && Math.max(0, Date.now() - at.getTime()) / 1_000;
}
