import { ifRefused } from '../../redis/error-reply.ts';
import type { RedisClient } from '../../redis/open-client.ts';

/** What to probe. */
export interface Probe {
  /** The publishing command with a minimal value. */
  readonly command: readonly string[];
  /** The type that the key must have if it exists; `undefined`: the address is not a key. */
  readonly type: string | undefined;
}

/**
 * Resolves when the server would accept the command now.
 *
 * Queues the command in a transaction and discards it. Queuing makes all checks that precede execution: permissions,
 * memory, disk, replicas, role.
 *
 * @throws the server's error reply
 */
export async function probeAddress(
  client: RedisClient,
  address: string,
  { command, type }: Probe,
): Promise<void> {
  // Sent in one turn of the event loop, so that no other command comes between them.
  const begun = client.sendCommand(['MULTI']);
  const queued = client.sendCommand(command);
  const discarded = client.sendCommand(['DISCARD']);
  const [, refused, undone] = await Promise.allSettled([begun, queued, discarded]);
  await begun;
  if (undone.status === 'rejected') {
    // The transaction is still open: every later command would be queued in it.
    client.destroy();
    throw undone.reason;
  }
  if (refused.status === 'rejected') throw refused.reason;
  if (type === undefined) return;
  // Without permission for TYPE, a wrong type is noticed only when publishing.
  const found = await client.type(address).catch(ifRefused('none'));
  if (found !== 'none' && found !== type)
    throw new Error(`WRONGTYPE The key ${address} is of the type ${found}, not ${type}.`);
}
