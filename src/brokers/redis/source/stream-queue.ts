import { OutboxError } from '../../../core/errors.ts';
import type { SourceNotice } from '../../source.ts';
import { refusalOf } from '../client/error-reply.ts';
import type { RedisClient } from '../client/open-client.ts';
import { redisClient } from '../client/redis-package.ts';
import { makeGroup } from './group-names.ts';
import { mostAtOnce, type Queue, type QueueLease, type QueueRead } from './queue.ts';
import { StreamEntry } from './stream-entry.ts';
import type { StreamReading } from './stream-reading.ts';
import { lagScript } from './stream-scripts.ts';

type RawEntry = readonly [id: Buffer, fields: readonly Buffer[]];

/** The reply to the holder; any other caller only gets the name of the holder. */
type RawOpen =
  | readonly [holder: Buffer]
  | readonly [
      none: Buffer,
      last: Buffer,
      first: Buffer,
      gone: readonly Buffer[],
      entries: readonly RawEntry[],
    ];
type RawGroup =
  | readonly [holder: Buffer]
  | readonly [none: Buffer, last: Buffer, first: Buffer, unread: number];

interface StreamQueueOptions {
  readonly address: string;
  readonly group: string;
  readonly fromBeginning: boolean;
  /** The idle time after which entries of other programs are claimed. */
  readonly claimAfterMs: number;
  readonly reading: StreamReading;
}

/** A stream as a group reads it. */
export class StreamQueue implements Queue {
  readonly address: string;
  readonly ordered: boolean;
  /** What is new is read only when nothing is open. */
  readonly readsOn = false;
  readonly #reading: StreamReading;
  readonly #group: string;
  /** Where the group begins if it is created now. */
  #beginning: '0' | '$';
  readonly #claimAfterMs: number;
  /** Entries that were delivered to the group and not acknowledged come first. The first read asks for them in any case: it claims. */
  #openFirst = false;
  /** Where the search for open entries goes on. Without order the reader keeps those that are open; otherwise they come again. */
  #openAfter = '0';
  #claimAtMs = 0;
  /** No entry up to this id is new. */
  #lastRead = '';

  constructor({ address, claimAfterMs, fromBeginning, group, reading }: StreamQueueOptions) {
    this.address = address;
    this.#reading = reading;
    this.ordered = reading.ordered;
    this.#group = group;
    this.#beginning = fromBeginning ? '0' : '$';
    this.#claimAfterMs = claimAfterMs;
  }

  async read(client: RedisClient, lease: QueueLease, most: number): Promise<QueueRead> {
    const notices: SourceNotice[] = [];
    const nowMs = performance.now();
    const claims = nowMs >= this.#claimAtMs;
    if (claims) this.#openAfter = '0';
    if (this.#openFirst || claims) {
      const open = await this.#orMakeGroup(client, () => this.#readOpen(client, lease, most, claims));
      if (open.length === 1) return { kind: 'taken', holder: open[0].toString() };
      const [, last, first, gone, entries] = open;
      // If the group is deleted with its stream and created again, it must not miss entries added in between.
      this.#beginning = '0';
      if (claims) this.#claimAtMs = nowMs + this.#reading.claimEveryMs(lease, this.#claimAfterMs);
      notices.push(...this.#gone(gone.map(String), first.toString()));
      this.#openFirst = entries.length > 0;
      if (!this.ordered) this.#openAfter = entries.at(-1)?.[0].toString() ?? '0';
      this.#lastRead = last.toString();
      if (entries.length > 0) return { ...this.#found(entries), notices };
      // More open entries may follow the deleted ones.
      if (gone.length > 0) return withNotices(notices, await this.#again(client, lease, most));
    }
    const [state, entries] = await this.#orMakeGroup(client, () => this.#readNew(client, lease, most));
    if (state.length === 1) return { kind: 'taken', holder: state[0].toString() };
    const [, last, first, unread] = state;
    if (this.ordered && last.toString() !== this.#lastRead) {
      // A reader that had lost the lease has read in between: its entries come before these, and both are open.
      return withNotices(notices, await this.#again(client, lease, most));
    }
    if (unread > 0) notices.push(this.#lost(last.toString(), first.toString(), unread));
    // Without order others read, too, and what they have read stays in the stream: it is no news.
    this.#lastRead = (entries.at(-1)?.[0] ?? last).toString();
    return { ...this.#found(entries), notices };
  }

  async done(
    client: RedisClient,
    _lease: QueueLease,
    messages: readonly { readonly offset: string }[],
  ): Promise<void> {
    // Even without the lease: the effects are committed.
    await client.sendCommand(['XACK', this.address, this.#group, ...messages.map(({ offset }) => offset)]);
  }

  renew(client: RedisClient, lease: QueueLease): Promise<boolean> {
    return this.#reading.renew(client, lease);
  }

  release(client: RedisClient, lease: QueueLease): Promise<void> {
    return this.#reading.release(client, lease);
  }

  reread(): void {
    this.#openFirst = true;
    this.#openAfter = '0';
  }

  async news(client: RedisClient, ms: number): Promise<void> {
    // Without a group, so that a late reply has no effect.
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

  async #readOpen(client: RedisClient, lease: QueueLease, most: number, claims: boolean): Promise<RawOpen> {
    const after = this.#openAfter;
    const question = { most: countOf(most), after, claims, claimAfterMs: this.#claimAfterMs };
    return client.sendCommand<RawOpen>(this.#reading.openCommand(lease, question), asBuffers());
  }

  async #readNew(
    client: RedisClient,
    lease: QueueLease,
    most: number,
  ): Promise<readonly [RawGroup, readonly RawEntry[]]> {
    const command = this.#reading.groupCommand(lease);
    const read = ['XREADGROUP', 'GROUP', this.#group, this.#reading.consumer, 'COUNT', countOf(most)];
    // Sent in one tick, so that no other command comes in between.
    const [begun, , , done] = await Promise.allSettled([
      client.sendCommand(['MULTI']),
      client.sendCommand(command),
      client.sendCommand([...read, 'STREAMS', this.address, '>']),
      client.sendCommand<readonly [RawGroup, StreamsReply]>(['EXEC'], asBuffers()),
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
      return ask();
    });
  }

  async #makeGroup(client: RedisClient): Promise<void> {
    // Another member may have just created it.
    await makeGroup(client, { address: this.address, group: this.#group, from: this.#beginning });
  }

  #found(entries: readonly RawEntry[]) {
    let bytes = 0;
    for (const [, fields] of entries) for (const { length } of fields) bytes += length;
    const messages = entries.map(([id, fields]) => new StreamEntry(this.address, id.toString(), fields));
    return { kind: 'mine', messages, bytes } as const;
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

/** By the name of the stream; `null`: no new entries. */
type StreamsReply = Readonly<Record<string, readonly RawEntry[]>> | null;

/** Puts earlier notices first. */
function withNotices(notices: readonly SourceNotice[], read: QueueRead): QueueRead {
  return read.kind === 'mine' ? { ...read, notices: [...notices, ...read.notices] } : read;
}

function countOf(most: number): string {
  return String(Math.min(most, mostAtOnce));
}

/** Bodies may be binary, and most fields are never decoded. */
function asBuffers() {
  return { typeMapping: { [redisClient().RESP_TYPES.BLOB_STRING]: Buffer } };
}
