import type { Kafka } from 'kafkajs';

/**
 * kafkajs 2.2.4 looks for throttled requests by a timer that is armed after every answer, for a moment that lies decades
 * back: Node fires it after a millisecond, and from 24 on warns of it (TimeoutNegativeWarning). When nothing waits it is
 * armed again, for as long as the connection is open. The fault is known upstream since 2024 and in no release.
 *
 * Here the timer is armed only while a request waits for it. What is changed are the objects of one client: the
 * application's own clients of kafkajs, the package and Node's warnings stay as they are.
 */

/** The private function of a client that makes its cluster, by the name that kafkajs gave to its symbol. */
const makesCluster = 'private:Kafka:createCluster';

/**
 * Lets the connections that a client will open arm no timer while they wait for nothing.
 *
 * A client that is built otherwise than that of kafkajs 2.2 stays as it is.
 */
export function withoutIdleTimers(kafka: Kafka): Kafka {
  const name = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === makesCluster);
  if (name !== undefined) {
    seeAnswers(kafka, name, (cluster) =>
      seeAnswers(memberOf(cluster, 'connectionPoolBuilder'), 'build', async (pool) => {
        const connections = memberOf(await pool, 'pool');
        if (!Array.isArray(connections)) return;
        for (const connection of connections) calm(memberOf(connection, 'requestQueue'));
      }),
    );
  }
  return kafka;
}

/** Lets a request queue of kafkajs look for requests that wait only when there are some. */
export function calm(queue: unknown): void {
  const schedule = memberOf(queue, 'scheduleCheckPendingRequests');
  if (typeof schedule !== 'function' || !Array.isArray(memberOf(queue, 'pending'))) return;
  setMember(queue, 'scheduleCheckPendingRequests', () => {
    // Read anew: the queue replaces its list when a connection breaks.
    const pending = memberOf(queue, 'pending');
    if (Array.isArray(pending) && pending.length > 0) Reflect.apply(schedule, queue, []);
  });
}

/** Has `look` see what a method answers before its caller does. */
function seeAnswers(owner: unknown, name: PropertyKey, look: (answer: unknown) => unknown): void {
  const method = memberOf(owner, name);
  if (typeof method !== 'function') return;
  setMember(owner, name, (...values: readonly unknown[]): unknown => {
    const answer: unknown = Reflect.apply(method, owner, values);
    const looked = look(answer);
    return looked instanceof Promise ? looked.then(() => answer) : answer;
  });
}

function memberOf(owner: unknown, name: PropertyKey): unknown {
  return typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
}

function setMember(owner: unknown, name: PropertyKey, value: unknown): void {
  if (typeof owner === 'object' && owner !== null) Reflect.set(owner, name, value);
}
