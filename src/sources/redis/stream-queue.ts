import { OutboxError } from '../../core/errors.ts';
import { refusalOf } from '../../redis/error-reply.ts';
import type { RedisClient } from '../../redis/open-client.ts';
import { redisClient } from '../../redis/redis-package.ts';
import type { SourceNotice } from '../source.ts';
import type { Queue, QueueLease, QueueRead } from './queue.ts';
import { StreamEntry } from './stream-entry.ts';
import { lagScript, openScript, placeScript } from './stream-scripts.ts';

/**
 * The one consumer of each group: only who has the lease reads, and finds what the one before left open under this name.
 */
const consumerName = 'temporal-outbox';
/** So that no answer grows without a limit, whatever is asked for. */
const mostEntries = 2_000;

type RawEntry = readonly [id: Buffer, fields: readonly Buffer[]];

/** What the scripts answer to the holder; to others they answer only who that is. */
type RawOpen =
  | readonly [holder: Buffer]
  | readonly [
      none: Buffer,
      last: Buffer,
      first: Buffer,
      gone: readonly Buffer[],
      entries: readonly RawEntry[],
    ];
type RawPlace =
  | readonly [holder: Buffer]
  | readonly [none: Buffer, last: Buffer, first: Buffer, unread: number];

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
  #lastRead = '';

  constructor(address: string, group: string, fromBeginning: boolean, claimAfterMs: number) {
    this.address = address;
    this.leaseKey = `${address}:reader:${group}`;
    this.#group = group;
    this.#beginning = fromBeginning ? '0' : '$';
    this.#claimAfterMs = claimAfterMs;
  }

  async read(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead> {
    const notices: SourceNotice[] = [];
    const nowMs = performance.now();
    const claims = nowMs >= this.#claimAtMs;
    if (this.#openFirst || claims) {
      const open = await this.#orMakeGroup(client, () => this.#readOpen(client, lease, most, claims));
      if (open.length === 1) return { kind: 'taken', holder: open[0].toString() };
      const [, last, first, gone, entries] = open;
      // One that is deleted with its stream, and made again, must not miss what came in between.
      this.#beginning = '0';
      if (claims) this.#claimAtMs = nowMs + this.#claimAfterMs;
      notices.push(...this.#gone(gone.map(String), first.toString()));
      this.#openFirst = entries.length > 0;
      this.#lastRead = last.toString();
      if (entries.length > 0) return { kind: 'mine', messages: this.#messages(entries), notices };
      // Behind those that were deleted there may be others.
      if (gone.length > 0) return withNotices(notices, await this.#again(client, lease, most));
    }
    const [place, entries] = await this.#orMakeGroup(client, () => this.#readNew(client, lease, most));
    if (place.length === 1) return { kind: 'taken', holder: place[0].toString() };
    const [, last, first, unread] = place;
    if (last.toString() !== this.#lastRead) {
      // Somebody who had lost the lease has read meanwhile: what he was given comes before this, and both are open.
      return withNotices(notices, await this.#again(client, lease, most));
    }
    if (unread > 0) notices.push(this.#lost(last.toString(), first.toString(), unread));
    this.#lastRead = entries.at(-1)?.[0].toString() ?? this.#lastRead;
    return { kind: 'mine', messages: this.#messages(entries), notices };
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

  #again(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead> {
    this.#openFirst = true;
    return this.read(client, lease, most);
  }

  async #readOpen(
    client: RedisClient,
    { holder, leaseMs }: QueueLease,
    most: number,
    claims: boolean,
  ): Promise<RawOpen> {
    const values = [holder, String(leaseMs), this.#group, consumerName, countOf(most)];
    values.push(claims ? String(this.#claimAfterMs) : '');
    return client.sendCommand<RawOpen>(
      ['EVAL', openScript, '2', this.leaseKey, this.address, ...values],
      asBuffers(),
    );
  }

  async #readNew(
    client: RedisClient,
    { holder, leaseMs }: QueueLease,
    most: number,
  ): Promise<readonly [RawPlace, readonly RawEntry[]]> {
    const place = [
      'EVAL',
      placeScript,
      '2',
      this.leaseKey,
      this.address,
      holder,
      String(leaseMs),
      this.#group,
    ];
    const read = ['XREADGROUP', 'GROUP', this.#group, consumerName, 'COUNT', countOf(most)];
    // In one turn, so that nothing of others comes between.
    const [begun, , , done] = await Promise.allSettled([
      client.sendCommand(['MULTI']),
      client.sendCommand(place),
      client.sendCommand([...read, 'STREAMS', this.address, '>']),
      client.sendCommand<readonly [RawPlace, StreamsReply]>(['EXEC'], asBuffers()),
    ]);
    if (begun.status === 'rejected') throw begun.reason;
    if (done.status === 'rejected') throw done.reason;
    const answers: readonly unknown[] = done.value;
    for (const answer of answers) if (answer instanceof Error) throw answer;
    const [at, streams] = done.value;
    return [at, Object.values(streams ?? {}).flat()];
  }

  async #orMakeGroup<Answer>(client: RedisClient, ask: () => Promise<Answer>): Promise<Answer> {
    return ask().catch(async (error: unknown) => {
      if (refusalOf(error)?.includes('NOGROUP') !== true) throw error;
      await this.#makeGroup(client);
      this.#openFirst = true;
      return ask();
    });
  }

  async #makeGroup(client: RedisClient): Promise<void> {
    await client
      .sendCommand(['XGROUP', 'CREATE', this.address, this.#group, this.#beginning, 'MKSTREAM'])
      .catch((error: unknown) => {
        // Somebody else has just made it.
        if (refusalOf(error)?.startsWith('BUSYGROUP') !== true) throw error;
      });
  }

  #messages(entries: readonly RawEntry[]): readonly StreamEntry[] {
    return entries.map(([id, fields]) => new StreamEntry(this.address, id.toString(), fields));
  }

  #gone(gone: readonly string[], to: string): readonly SourceNotice[] {
    const [first] = gone;
    return first === undefined ? [] : [this.#lost(first, to, gone.length)];
  }

  #lost(from: string, to: string, messages: number): SourceNotice {
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
        `Redis has deleted ${messages} entries of the stream ${address} that the group "${group}" had not acknowledged.`,
        { details: { address, group, messages } },
      ),
    };
  }
}

/** By the name of the stream; `null`: there is nothing new. */
type StreamsReply = Readonly<Record<string, readonly RawEntry[]>> | null;

/** What was noticed before comes first. */
function withNotices(notices: readonly SourceNotice[], read: QueueRead): QueueRead {
  return read.kind === 'mine' ? { ...read, notices: [...notices, ...read.notices] } : read;
}

function countOf(most: number): string {
  return String(Math.min(most, mostEntries));
}

/** Bodies may be anything, and most fields are never looked at. */
function asBuffers() {
  return { typeMapping: { [redisClient().RESP_TYPES.BLOB_STRING]: Buffer } };
}
