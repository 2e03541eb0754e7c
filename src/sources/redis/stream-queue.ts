import { OutboxError } from '../../core/errors.ts';
import { refusalOf } from '../../redis/error-reply.ts';
import type { RedisClient } from '../../redis/open-client.ts';
import { redisClient } from '../../redis/redis-package.ts';
import type { SourceNotice } from '../source.ts';
import type { Queue, QueueLease, QueueRead } from './queue.ts';
import { StreamEntry } from './stream-entry.ts';
import { lagScript, readScript } from './stream-scripts.ts';

/**
 * The one consumer of each group: only who has the lease reads, and finds what the one before left open under this name.
 */
const consumerName = 'temporal-outbox';
/** As many arguments as a script may hand on are far more. */
const mostEntries = 2_000;

/** What the script answers to its holder; to others it answers only who that is. */
type RawRead =
  | readonly [holder: Buffer]
  | readonly [
      none: Buffer,
      fresh: number,
      lastRead: Buffer,
      first: Buffer,
      unread: number,
      gone: readonly Buffer[],
      entries: readonly (readonly [id: Buffer, fields: readonly Buffer[]])[],
    ];

/** A stream as a group reads it. */
export class StreamQueue implements Queue {
  readonly address: string;
  readonly leaseKey: string;
  readonly #group: string;
  /** Where a group begins that is made. */
  #beginning: '0' | '$';
  readonly #claimAfterMs: number;
  /** What was given to the group and is open comes first. */
  #openFirst = true;
  #claimAtMs = 0;
  /** Nothing up to here is new. */
  #lastRead = '$';

  constructor(address: string, group: string, fromBeginning: boolean, claimAfterMs: number) {
    this.address = address;
    this.leaseKey = `${address}:reader:${group}`;
    this.#group = group;
    this.#beginning = fromBeginning ? '0' : '$';
    this.#claimAfterMs = claimAfterMs;
  }

  async read(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead> {
    const nowMs = performance.now();
    const claims = nowMs >= this.#claimAtMs;
    const ask = (): Promise<RawRead> =>
      client.sendCommand<RawRead>(
        [
          'EVAL',
          readScript,
          '2',
          this.leaseKey,
          this.address,
          lease.holder,
          String(lease.leaseMs),
          this.#group,
          consumerName,
          String(Math.min(most, mostEntries)),
          this.#openFirst ? '0' : '>',
          claims ? String(this.#claimAfterMs) : '',
        ],
        { typeMapping: { [redisClient().RESP_TYPES.BLOB_STRING]: Buffer } },
      );
    const raw = await ask().catch(async (error: unknown) => {
      if (refusalOf(error)?.includes('NOGROUP') !== true) throw error;
      await this.#makeGroup(client);
      return ask();
    });
    if (raw.length === 1) return { kind: 'taken', holder: raw[0].toString() };
    const [, fresh, lastRead, first, unread, gone, entries] = raw;
    // One that was deleted with its stream and made again must not miss what came in between.
    this.#beginning = '0';
    if (claims) this.#claimAtMs = nowMs + this.#claimAfterMs;
    this.#openFirst = fresh === 0;
    if (entries.length === 0) this.#lastRead = lastRead.toString();
    return {
      kind: 'mine',
      messages: entries.map(([id, fields]) => new StreamEntry(this.address, id.toString(), fields)),
      notices: this.#notices(gone.map(String), { from: lastRead.toString(), to: first.toString(), unread }),
    };
  }

  async done(
    client: RedisClient,
    _lease: QueueLease,
    messages: readonly { readonly offset: string }[],
  ): Promise<void> {
    // With or without the lease: their effects are there.
    await client.sendCommand(['XACK', this.address, this.#group, ...messages.map(({ offset }) => offset)]);
  }

  reread(): void {
    this.#openFirst = true;
  }

  async news(client: RedisClient, ms: number): Promise<void> {
    // For no group, and so without any effect that could come too late.
    await client.sendCommand([
      'XREAD',
      'COUNT',
      '1',
      'BLOCK',
      String(ms),
      'STREAMS',
      this.address,
      this.#lastRead,
    ]);
  }

  async lag(client: RedisClient): Promise<number> {
    return client.sendCommand<number>(['EVAL', lagScript, '1', this.address, this.#group]);
  }

  conflict(): undefined {
    return undefined;
  }

  async #makeGroup(client: RedisClient): Promise<void> {
    // Somebody else may just have made it.
    await client
      .sendCommand(['XGROUP', 'CREATE', this.address, this.#group, this.#beginning, 'MKSTREAM'])
      .catch((error: unknown) => {
        if (refusalOf(error)?.startsWith('BUSYGROUP') !== true) throw error;
      });
  }

  #notices(
    gone: readonly string[],
    { from, to, unread }: { readonly from: string; readonly to: string; readonly unread: number },
  ): readonly SourceNotice[] {
    const notices: SourceNotice[] = [];
    const [first] = gone;
    if (first !== undefined) notices.push(this.#lost(first, to, gone.length, 'were given to'));
    if (unread > 0) notices.push(this.#lost(from, to, unread, 'had not reached'));
    return notices;
  }

  #lost(from: string, to: string, messages: number, what: string): SourceNotice {
    const { address } = this;
    const group = this.#group;
    return {
      type: 'messages-lost',
      address,
      partition: 0,
      from,
      to,
      messages,
      error: new OutboxError(
        'OUTBOX_MESSAGES_EXPIRED',
        `${messages} entries of the stream ${address} were deleted that ${what} the group "${group}" and were not acknowledged; the oldest that is left is ${to}.`,
        { details: { address, group, messages } },
      ),
    };
  }
}
