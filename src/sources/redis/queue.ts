import type { RedisClient } from '../../redis/open-client.ts';
import type { IncomingMessage, SourceNotice } from '../source.ts';

/** Who asks to read a queue. Nobody else may while the lease lasts. */
export interface QueueLease {
  /** The group, and a name of this member alone behind it. */
  readonly holder: string;
  readonly leaseMs: number;
}

/** What {@link Queue.read} found. */
export type QueueRead =
  /** Another member has the lease. */
  | { readonly kind: 'taken'; readonly holder: string }
  | {
      readonly kind: 'mine';
      /** The oldest ones that are open, in their order. */
      readonly messages: readonly IncomingMessage[];
      /** Messages that were lost before this one read them. */
      readonly notices: readonly SourceNotice[];
    };

/** One address, as a group reads it: a stream or a list. The connection is that of who asks. */
export interface Queue {
  readonly address: string;
  /** The key that holds the lease. */
  readonly leaseKey: string;
  /** Takes the lease, or renews it, and answers the oldest open messages, at most so many. */
  read(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead>;
  /** Tells that these, the first of what was read, are done. With another's lease it may do nothing. */
  done(client: RedisClient, lease: QueueLease, messages: readonly IncomingMessage[]): Promise<void>;
  /** To be called when what was read and is not done shall be read again. */
  reread(): void;
  /** Waits for new messages, at most so long; the connection is used for nothing else. */
  news(client: RedisClient, ms: number): Promise<void>;
  /** How many messages are not done, those that were read included. */
  lag(client: RedisClient): Promise<number>;
  /** Why this holder cannot be waited for; `undefined`: it can. */
  conflict(holder: string): Error | undefined;
}

/**
 * Begins a script of a reader: `KEYS[1]` is the lease, `ARGV[1]` its holder, `ARGV[2]` its time in milliseconds. It answers
 * the name of another holder; what follows learns from `renewed` whether nobody can have had the lease meanwhile.
 *
 * A server whose memory is full refuses a script that begins with SET, and permits one that begins with PEXPIRE whatever comes
 * behind it. Without that nobody could take over a full queue, and empty it.
 */
export const leaseScript = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return { holder } end
local renewed = redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 1
if not renewed then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
`;

const renewScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const releaseScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** @returns whether it is still held */
export async function renewReading(
  client: RedisClient,
  key: string,
  { holder, leaseMs }: QueueLease,
): Promise<boolean> {
  return (await client.sendCommand<number>(['EVAL', renewScript, '1', key, holder, String(leaseMs)])) === 1;
}

/** Lets the next member begin at once. */
export async function releaseReading(
  client: RedisClient,
  key: string,
  { holder }: QueueLease,
): Promise<void> {
  await client.sendCommand(['EVAL', releaseScript, '1', key, holder]);
}
