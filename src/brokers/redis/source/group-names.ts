import { refusalOf } from '../client/error-reply.ts';
import type { RedisClient } from '../client/open-client.ts';

/** The group of a stream, for display. */
export function groupAt(group: string, address: string): string {
  return `the group ${group} of the stream ${address}`;
}

/** The key with the lease of the member that reads, or of the members that read together. */
export function leaseKeyOf(address: string, group: string): string {
  return `${address}:reader:${group}`;
}

/** The key with the members that read together, and when each of them ends. */
export function membersKeyOf(address: string, group: string): string {
  return `${address}:readers:${group}`;
}

/** Names of the groups of a stream; none if it does not exist. */
export async function groupNames(client: RedisClient, address: string): Promise<readonly string[]> {
  try {
    return (await client.xInfoGroups(address)).map(({ name }) => name);
  } catch (error) {
    if (refusalOf(error)?.includes('no such key') === true) return [];
    throw error;
  }
}

/**
 * Creates a group, and its stream if that is missing.
 *
 * @param from `0`: the group begins with the oldest entry; `$`: with what arrives from now on
 * @returns whether it was created now
 */
export async function makeGroup(
  client: RedisClient,
  { address, from, group }: { readonly address: string; readonly group: string; readonly from: '0' | '$' },
): Promise<boolean> {
  try {
    await client.sendCommand(['XGROUP', 'CREATE', address, group, from, 'MKSTREAM']);
    return true;
  } catch (error) {
    if (refusalOf(error)?.startsWith('BUSYGROUP') !== true) throw error;
    return false;
  }
}
