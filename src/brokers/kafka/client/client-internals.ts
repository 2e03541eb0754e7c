import type { Kafka } from 'kafkajs';

/** Name of the symbol of a client's private function that creates its cluster. */
const makesCluster = 'private:Kafka:createCluster';

/**
 * Shows each connection that a client of kafkajs opens from now on, before it is used. Only the objects of this client are
 * changed: the application's own kafkajs clients and the package stay as they are. Of a client whose internals differ from
 * those of kafkajs 2.2 nothing is shown.
 */
export function eachConnection(kafka: Kafka, look: (connection: unknown) => void): void {
  const name = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === makesCluster);
  if (name === undefined) return;
  seeAnswers(kafka, name, (cluster) =>
    seeAnswers(memberOf(cluster, 'connectionPoolBuilder'), 'build', async (pool) => {
      const connections = memberOf(await pool, 'pool');
      if (Array.isArray(connections)) for (const connection of connections) look(connection);
    }),
  );
}

/** Passes the result of a method to `look` before its caller gets it. */
function seeAnswers(owner: unknown, name: PropertyKey, look: (answer: unknown) => unknown): void {
  const method = memberOf(owner, name);
  if (typeof method !== 'function') return;
  setMember(owner, name, (...values: readonly unknown[]): unknown => {
    const answer: unknown = Reflect.apply(method, owner, values);
    const looked = look(answer);
    return looked instanceof Promise ? looked.then(() => answer) : answer;
  });
}

export function memberOf(owner: unknown, name: PropertyKey): unknown {
  return typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
}

export function setMember(owner: unknown, name: PropertyKey, value: unknown): void {
  if (typeof owner === 'object' && owner !== null) Reflect.set(owner, name, value);
}
