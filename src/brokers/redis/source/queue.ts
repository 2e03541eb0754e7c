import type { IncomingMessage, SourceNotice } from '../../source.ts';
import type { RedisClient } from '../client/open-client.ts';

/** Limits the size of a reply, whatever the batch size. A script can pass on few more arguments than this. */
export const mostAtOnce = 2_000;

/** Identifies a reader of a queue, which no other may read while the lease lasts, unless the queue is shared. */
export interface QueueLease {
  /** The group, followed by a name that is unique to this member. */
  readonly holder: string;
  readonly leaseMs: number;
}

/** What {@link Queue.read} found. */
export type QueueRead =
  /** Another member has the lease. */
  | { readonly kind: 'taken'; readonly holder: string }
  | {
      readonly kind: 'mine';
      /** The oldest open ones, in order. */
      readonly messages: readonly IncomingMessage[];
      /** Their size as they were sent by the server, about. */
      readonly bytes: number;
      /** Messages that were lost before this read. */
      readonly notices: readonly SourceNotice[];
    };

/** One address, as a group reads it: a stream or a list. The caller supplies the connection. */
export interface Queue {
  readonly address: string;
  /** Whether a message that is not done keeps those behind it from being done. */
  readonly ordered: boolean;
  /** Whether a read of messages that are open has those behind them, too, so that they may wait for more. */
  readonly readsOn: boolean;
  /** Extends the lease. @returns whether it is still held */
  renew(client: RedisClient, lease: QueueLease): Promise<boolean>;
  /** Gives the lease up, so that the next member begins at once. */
  release(client: RedisClient, lease: QueueLease): Promise<void>;
  /** Takes or renews the lease, and returns the oldest open messages, up to `most`. */
  read(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead>;
  /** Marks these of the last read, if order is kept the first ones, as done. Without the lease it may do nothing. */
  done(client: RedisClient, lease: QueueLease, messages: readonly IncomingMessage[]): Promise<void>;
  /** Must be called if messages that were read and are not done are to be read again. */
  reread(): void;
  /** Waits for new messages, up to `ms`; the connection is used for nothing else. */
  news(client: RedisClient, ms: number): Promise<void>;
  /** Number of messages that are not done, including those that were read. */
  lag(client: RedisClient): Promise<number>;
  /** An error if the lease of this holder never becomes free for this group; otherwise `undefined`. */
  conflict(holder: string): Error | undefined;
}

/**
 * Beginning of every reader's script: `KEYS[1]` is the lease, `ARGV[1]` its holder, `ARGV[2]` its time in milliseconds.
 * Returns the name of another holder, if any. `renewed` is true if no other member can have had the lease in between.
 *
 * A server whose memory is full rejects a script that begins with SET, but accepts one that begins with PEXPIRE,
 * whatever follows. Otherwise no member could take over a full queue and empty it.
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

/** @returns whether the lease is still held */
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
