import type { Kafka } from 'kafkajs';
import { eachConnection, memberOf, setMember } from './client-internals.ts';

/**
 * kafkajs 2.2.4 checks for throttled requests by a timer that it sets after every answer, to a time decades in the past: Node
 * fires it after a millisecond, and from version 24 on emits a TimeoutNegativeWarning. Without a waiting request it is set
 * again, as long as the connection is open. The bug has been known upstream since 2024; no release fixes it.
 *
 * Here the timer is set only while a request waits for it. Only the objects of one client are changed: the application's own
 * kafkajs clients, the package and Node's warnings stay as they are.
 */

/**
 * Prevents idle connections of a client from setting timers.
 *
 * A client whose internals differ from those of kafkajs 2.2 stays as it is.
 */
export function withoutIdleTimers(kafka: Kafka): Kafka {
  eachConnection(kafka, (connection) => calm(memberOf(connection, 'requestQueue')));
  return kafka;
}

/** Makes a request queue of kafkajs check for waiting requests only if there are any. */
export function calm(queue: unknown): void {
  const schedule = memberOf(queue, 'scheduleCheckPendingRequests');
  if (typeof schedule !== 'function' || !Array.isArray(memberOf(queue, 'pending'))) return;
  setMember(queue, 'scheduleCheckPendingRequests', () => {
    // Read again each time: the queue replaces its list when a connection breaks.
    const pending = memberOf(queue, 'pending');
    if (Array.isArray(pending) && pending.length > 0) Reflect.apply(schedule, queue, []);
  });
}
