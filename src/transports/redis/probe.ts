import { ifRefused } from '../../redis/error-reply.ts';
import type { RedisClient } from '../../redis/open-client.ts';

/** What a probe asks. */
export interface Probe {
  /** A command as it is sent when publishing, of the smallest kind. */
  readonly command: readonly string[];
  /** What the address must be, unless nothing is there; `undefined`: it is no key. */
  readonly type: string | undefined;
}

/**
 * Resolves when the server would take the command now.
 *
 * It has the command queued in a transaction, which asks all that is asked of a command before it is executed: rights,
 * memory, disk, replicas, role. Then the transaction is discarded.
 *
 * @throws the server's refusal
 */
export async function probeAddress(
  client: RedisClient,
  address: string,
  { command, type }: Probe,
): Promise<void> {
  // In one turn, so that nothing of others comes between.
  const begun = client.sendCommand(['MULTI']);
  const queued = client.sendCommand(command);
  const discarded = client.sendCommand(['DISCARD']);
  const [, refused, undone] = await Promise.allSettled([begun, queued, discarded]);
  await begun;
  if (undone.status === 'rejected') {
    // Whatever came next on this connection would be queued for ever.
    client.destroy();
    throw undone.reason;
  }
  if (refused.status === 'rejected') throw refused.reason;
  if (type === undefined) return;
  // Who may not ask for it learns of a wrong type when something is sent.
  const found = await client.type(address).catch(ifRefused('none'));
  if (found !== 'none' && found !== type)
    throw new Error(`WRONGTYPE The key ${address} is of the type ${found}, not ${type}.`);
}
