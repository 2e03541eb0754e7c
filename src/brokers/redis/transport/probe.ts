import { ifRefused } from '../client/error-reply.ts';
import type { RedisClient } from '../client/open-client.ts';

/** What to probe. */
export interface Probe {
  /** The publishing commands, with a minimal value. */
  readonly commands: readonly (readonly string[])[];
  /** The type that the key must have if it exists; `undefined`: the address is not a key. */
  readonly type: string | undefined;
}

/**
 * For what publishes by a script: a loading server, or a replica without its primary, accepts PUBLISH alone, but no
 * script.
 */
export const anyScript = ['EVAL', 'return 0', '0'];

/**
 * Resolves when the server would accept the commands now.
 *
 * Queues them in a transaction and discards it. Queuing makes all checks that precede execution: permissions, memory,
 * disk, replicas, role.
 *
 * @throws the server's error reply
 */
export async function probeAddress(
  client: RedisClient,
  address: string,
  { commands, type }: Probe,
): Promise<void> {
  // Sent in one turn of the event loop, so that no other command comes between them.
  const begun = client.sendCommand(['MULTI']);
  const queued = commands.map((command) => client.sendCommand(command));
  const discarded = client.sendCommand(['DISCARD']);
  const [, undone, ...answers] = await Promise.allSettled([begun, discarded, ...queued]);
  await begun;
  if (undone.status === 'rejected') {
    // The transaction is still open: every later command would be queued in it.
    client.destroy();
    throw undone.reason;
  }
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  if (type === undefined) return;
  // Without permission for TYPE, a wrong type is noticed only when publishing.
  const found = await client.type(address).catch(ifRefused('none'));
  if (found !== 'none' && found !== type)
    throw new Error(`WRONGTYPE The key ${address} is of the type ${found}, not ${type}.`);
}
