import { reasonOf } from '../../../core/reason.ts';
import { givenUp } from '../../given-up.ts';
import type { Hold, OutgoingBatch, OutgoingMessage, PublishOutcome, PublishResult } from '../../transport.ts';
import { ifRefused, refusalOf } from '../client/error-reply.ts';
import type { RedisClient } from '../client/open-client.ts';
import { NoConnection, type RedisLink } from '../client/redis-link.ts';
import { meaningOf } from './failure.ts';

/** Redis executes one command at a time, so a chunk delays all other clients: this many take a few milliseconds. */
const mostMessages = 500;
/** In characters of payload. */
const mostLength = 1_000_000;
/**
 * A message with a longer payload is sent alone. A shorter one stays below 1,000,000 bytes in any encoding, which every
 * server accepts.
 */
const longLength = 150_000;
/** The default of `proto-max-bulk-len`, the longest argument that Redis accepts. */
const usualMaxBytes = 512 * 1024 * 1024;

/** The server's reply to a chunk. */
export interface ChunkAnswer {
  /** Of the first messages of the chunk. */
  readonly outcomes: readonly PublishOutcome[];
  /** Why the next message was refused; neither it nor any message after it was stored. */
  readonly refusal?: string;
}

/** How one kind of transport sends messages to the server. */
export interface ChunkSender {
  /** The size in bytes of the message's longest command argument. */
  bytes(message: OutgoingMessage): number;
  /** Added to the request timeout. */
  readonly extraMs: number;
  /** Sends messages; a rejection with an error reply of the server means that none was stored. */
  send(client: RedisClient, address: string, messages: readonly OutgoingMessage[]): Promise<ChunkAnswer>;
}

const unsent: PublishOutcome = { kind: 'deferred', onWire: false };
const maybeStored: PublishOutcome = { kind: 'deferred', onWire: true };
/**
 * Publishes a batch in chunks. Redis executes each chunk atomically, so the order holds. It may refuse one chunk and
 * accept the next, so a chunk is sent only after the previous one was answered.
 */
export async function publishChunks(
  link: RedisLink,
  sender: ChunkSender,
  { address, messages, signal }: OutgoingBatch,
): Promise<PublishResult> {
  const batch = new OpenBatch(messages);
  const { closings } = link;
  let hold: Hold | undefined;
  while (hold === undefined && !signal.aborted && link.closings === closings) {
    const indexes = batch.next();
    if (indexes.length === 0) break;
    try {
      const answer = await link.ask(
        (client) => sendFitting(client, sender, address, batch.at(indexes)),
        sender.extraMs,
      );
      hold = batch.answered(indexes, answer);
    } catch (error) {
      hold = batch.failed(indexes, error);
    }
  }
  if (hold?.scope === 'transport') link.renew();
  return batch.result(hold);
}

/** Refuses a message that is too large here: the server would close the connection, often without an error reply. */
async function sendFitting(
  client: RedisClient,
  sender: ChunkSender,
  address: string,
  messages: readonly OutgoingMessage[],
): Promise<ChunkAnswer> {
  const [first] = messages;
  const bytes = first === undefined || first.payload.length <= longLength ? 0 : sender.bytes(first);
  const maxBytes = bytes > 1_000_000 ? await maxBytesOf(client) : usualMaxBytes;
  if (bytes <= maxBytes) return sender.send(client, address, messages);
  const error = `The message has ${bytes} bytes, and proto-max-bulk-len of the server is ${maxBytes}.`;
  return { outcomes: [{ kind: 'permanent', error }] };
}

/** Hosted servers often refuse CONFIG GET; they use the default limit. */
async function maxBytesOf(client: RedisClient): Promise<number> {
  const answer = await client.configGet('proto-max-bulk-len').catch(ifRefused({}));
  const [text] = Object.values(answer);
  return text === undefined ? usualMaxBytes : Number(text);
}

/** The messages of a batch and their outcomes so far. */
class OpenBatch {
  readonly #messages: readonly OutgoingMessage[];
  readonly #outcomes: (PublishOutcome | undefined)[];
  /** Keys with a message that was not acknowledged. */
  readonly #blocked = new Set<string>();

  constructor(messages: readonly OutgoingMessage[]) {
    this.#messages = messages;
    this.#outcomes = Array.from(messages, () => undefined);
  }

  /** The indexes of the next chunk's messages; messages of blocked keys become `blocked`. */
  next(): readonly number[] {
    const indexes: number[] = [];
    let length = 0;
    for (const [index, message] of this.#messages.entries()) {
      if (this.#outcomes[index] !== undefined) continue;
      if (message.key !== null && this.#blocked.has(message.key)) {
        this.#outcomes[index] = { kind: 'blocked' };
        continue;
      }
      const isLong = message.payload.length > longLength;
      length += message.payload.length;
      if (indexes.length > 0 && (isLong || length > mostLength || indexes.length >= mostMessages)) break;
      indexes.push(index);
      if (isLong) break;
    }
    return indexes;
  }

  at(indexes: readonly number[]): readonly OutgoingMessage[] {
    return indexes.flatMap((index) => this.#messages[index] ?? []);
  }

  /** @returns the hold, if the refusal causes one */
  answered(indexes: readonly number[], { outcomes, refusal }: ChunkAnswer): Hold | undefined {
    for (const [n, outcome] of outcomes.entries()) this.#settle(indexes[n], outcome);
    if (refusal === undefined) return undefined;
    const failure = meaningOf(refusal);
    if (failure.kind === 'hold') return failure.hold;
    this.#settle(indexes[outcomes.length], failure.outcome);
    return undefined;
  }

  /** @returns the hold, if one begins */
  failed(indexes: readonly number[], error: unknown): Hold | undefined {
    const refusal = refusalOf(error instanceof NoConnection ? error.cause : error);
    const failure = refusal === undefined ? undefined : meaningOf(refusal);
    if (error instanceof NoConnection)
      return failure?.kind === 'hold' ? failure.hold : { scope: 'transport', reason: reasonOf(error) };
    if (failure?.kind === 'hold') return failure.hold;
    if (failure === undefined) {
      for (const index of indexes) this.#settle(index, maybeStored);
      return { scope: 'transport', reason: reasonOf(error) };
    }
    // Which message caused the error is unknown.
    for (const index of indexes) {
      const key = this.#messages[index]?.key ?? null;
      const behind = key !== null && this.#blocked.has(key);
      this.#settle(index, behind ? { kind: 'blocked', onWire: true } : failure.outcome);
    }
    return undefined;
  }

  result(hold: Hold | undefined): PublishResult {
    const outcomes = this.#outcomes.map((outcome) => outcome ?? unsent);
    const reason = hold ?? (outcomes.some(({ kind }) => kind === 'deferred') ? givenUp : undefined);
    return reason === undefined ? { outcomes } : { outcomes, hold: reason };
  }

  #settle(index: number | undefined, outcome: PublishOutcome): void {
    if (index === undefined) return;
    this.#outcomes[index] = outcome;
    const key = this.#messages[index]?.key ?? null;
    if (outcome.kind !== 'acknowledged' && key !== null) this.#blocked.add(key);
  }
}
