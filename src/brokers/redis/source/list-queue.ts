import { OutboxError } from '../../../core/errors.ts';
import { incomingMessage } from '../../incoming-message.ts';
import type { IncomingMessage } from '../../source.ts';
import { readEnvelope } from '../client/message-format.ts';
import type { RedisClient } from '../client/open-client.ts';
import { redisClient } from '../client/redis-package.ts';
import {
  leaseScript,
  mostAtOnce,
  type Queue,
  type QueueLease,
  type QueueRead,
  releaseReading,
  renewReading,
} from './queue.ts';

/**
 * Moves values to the end of the open ones, and returns the first open ones, atomically with the lease. KEYS: lease,
 * list, list of open values, count of done values. ARGV: holder, lease time, maximum of values.
 *
 * The count starts with the current time, so that offsets are never reused, even if the key was lost.
 */
const readScript = `${leaseScript}
local free = tonumber(ARGV[3]) - redis.call('LLEN', KEYS[3])
if free > 0 then
  local values = redis.call('LPOP', KEYS[2], free)
  if values and #values > 0 then redis.call('RPUSH', KEYS[3], unpack(values)) end
end
local done = redis.call('GET', KEYS[4])
if not done then
  local time = redis.call('TIME')
  done = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('SET', KEYS[4], done)
end
return { '', done, redis.call('LRANGE', KEYS[3], 0, ARGV[3] - 1) }`;

/**
 * Only with the lease, and only if nothing was done since the read: otherwise the first values are different ones by now.
 * An earlier attempt may have been given up and executed nevertheless. ARGV: holder, how many, the count at the read.
 */
const doneScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('GET', KEYS[3]) ~= ARGV[3] then return 0 end
redis.call('LTRIM', KEYS[2], ARGV[2], -1)
redis.call('INCRBY', KEYS[3], ARGV[2])
return 1`;

type RawRead = readonly [holder: Buffer] | readonly [none: Buffer, done: Buffer, values: readonly Buffer[]];

/** A list, as its group reads it. */
export class ListQueue implements Queue {
  readonly address: string;
  readonly ordered = true;
  readonly readsOn = true;
  readonly #leaseKey: string;
  readonly #group: string;
  /** What was taken out of the list and is not acknowledged. */
  readonly #openKey: string;
  readonly #countKey: string;

  constructor(address: string, group: string) {
    this.address = address;
    this.#leaseKey = `${address}:reader`;
    this.#group = group;
    this.#openKey = `${address}:processing`;
    this.#countKey = `${address}:done`;
  }

  async read(client: RedisClient, { holder, leaseMs }: QueueLease, most: number): Promise<QueueRead> {
    const keys = [this.#leaseKey, this.address, this.#openKey, this.#countKey];
    const values = [holder, String(leaseMs), String(Math.min(most, mostAtOnce))];
    const raw = await client.sendCommand<RawRead>(
      ['EVAL', readScript, String(keys.length), ...keys, ...values],
      {
        typeMapping: { [redisClient().RESP_TYPES.BLOB_STRING]: Buffer },
      },
    );
    if (raw.length === 1) return { kind: 'taken', holder: raw[0].toString() };
    const [, done, texts] = raw;
    const first = BigInt(done.toString());
    return {
      kind: 'mine',
      messages: texts.map((text, n) => messageOf(this.address, String(first + BigInt(n)), text)),
      bytes: texts.reduce((sum, { length }) => sum + length, 0),
      notices: [],
    };
  }

  async done(
    client: RedisClient,
    { holder }: QueueLease,
    messages: readonly { readonly offset: string }[],
  ): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    const keys = [this.#leaseKey, this.#openKey, this.#countKey];
    await client.sendCommand([
      'EVAL',
      doneScript,
      String(keys.length),
      ...keys,
      holder,
      String(messages.length),
      first.offset,
    ]);
  }

  renew(client: RedisClient, lease: QueueLease): Promise<boolean> {
    return renewReading(client, this.#leaseKey, lease);
  }

  release(client: RedisClient, lease: QueueLease): Promise<void> {
    return releaseReading(client, this.#leaseKey, lease);
  }

  /** Not needed: every read returns the open values first. */
  reread(): void {}

  async news(client: RedisClient, ms: number): Promise<void> {
    // Correct even if the lease was lost in the meantime: the next message moves to where it belongs.
    await client.blMove(this.address, this.#openKey, 'LEFT', 'RIGHT', ms / 1_000);
  }

  async lag(client: RedisClient): Promise<number> {
    const [waiting, open] = await Promise.all([client.lLen(this.address), client.lLen(this.#openKey)]);
    return waiting + open;
  }

  conflict(holder: string): Error | undefined {
    const group = holder.slice(0, holder.lastIndexOf('/'));
    if (group === this.#group) return undefined;
    return new OutboxError(
      'OUTBOX_GROUP_REFUSED',
      `The list ${this.address} is read by the group "${group}", and the group "${this.#group}" would take messages from it.`,
      { details: { address: this.address, group: this.#group, reader: group } },
    );
  }
}

/** Values that are not envelopes come from other senders: each is a body, without key and headers. */
function messageOf(address: string, offset: string, value: Buffer): IncomingMessage {
  const position = { address, partition: 0, offset };
  const envelope = readEnvelope(value.toString());
  if (envelope === undefined)
    return incomingMessage({ ...position, key: null, body: value, headers: {}, timestamp: new Date() });
  const { headers, key, payload, sentAtMs } = envelope;
  return incomingMessage({
    ...position,
    key,
    body: Buffer.from(payload),
    headers,
    timestamp: new Date(sentAtMs),
  });
}
