import { reasonOf } from '../../core/reason.ts';
import { ifRefused, refusalOf } from '../../redis/error-reply.ts';
import type { RedisClient } from '../../redis/open-client.ts';
import { NoConnection, type RedisLink } from '../../redis/redis-link.ts';
import type { Hold, OutgoingBatch, OutgoingMessage, PublishOutcome, PublishResult } from '../transport.ts';
import { meaningOf } from './failure.ts';

/** While Redis works on one command, everybody else waits: so many at once take it a few milliseconds. */
const mostMessages = 500;
/** Characters of payloads. */
const mostLength = 1_000_000;
/** A longer one goes alone. Any other has less than the million bytes that every server takes, however it is written. */
const longLength = 150_000;
/** What Redis takes as one argument unless `proto-max-bulk-len` says otherwise. */
const usualMaxBytes = 512 * 1024 * 1024;

/** What the server said to a chunk. */
export interface ChunkAnswer {
  /** Of its first messages. */
  readonly outcomes: readonly PublishOutcome[];
  /** Why the message behind them was refused; neither it nor anything behind it was stored. */
  readonly refusal?: string;
}

/** How messages of one kind go to the server. */
export interface ChunkWay {
  /** How many bytes of its longest argument a message has. */
  bytes(message: OutgoingMessage): number;
  /** How much longer than usual an answer may take. */
  readonly extraMs: number;
  /** Sends some; a rejection with an answer of the server means that it has stored none of them. */
  send(client: RedisClient, address: string, messages: readonly OutgoingMessage[]): Promise<ChunkAnswer>;
}

const unsent: PublishOutcome = { kind: 'deferred', onWire: false };
const maybeStored: PublishOutcome = { kind: 'deferred', onWire: true };
const givenUp: Hold = { scope: 'topic', reason: 'The relay gave up the batch before all of it was sent.' };

/**
 * Publishes a batch in chunks, one after the other. Redis executes each of them without a pause, so the order holds, and
 * it may refuse one chunk and take the next: hence no second one is on its way before the first is answered.
 */
export async function publishChunks(
  link: RedisLink,
  way: ChunkWay,
  { address, messages, signal }: OutgoingBatch,
): Promise<PublishResult> {
  const batch = new OpenBatch(messages);
  const { closings } = link;
  let hold: Hold | undefined;
  while (hold === undefined && !signal.aborted && link.closings === closings) {
    const places = batch.next();
    if (places.length === 0) break;
    try {
      const answer = await link.ask(
        (client) => sendFitting(client, way, address, batch.at(places)),
        way.extraMs,
      );
      hold = batch.answered(places, answer);
    } catch (error) {
      hold = batch.failed(places, error);
    }
  }
  if (hold?.scope === 'transport') link.renew();
  return batch.result(hold);
}

/** What does not fit is refused here: the server would end the connection, and often without a word. */
async function sendFitting(
  client: RedisClient,
  way: ChunkWay,
  address: string,
  messages: readonly OutgoingMessage[],
): Promise<ChunkAnswer> {
  const [first] = messages;
  const bytes = first === undefined || first.payload.length <= longLength ? 0 : way.bytes(first);
  const maxBytes = bytes > 1_000_000 ? await maxBytesOf(client) : usualMaxBytes;
  if (bytes <= maxBytes) return way.send(client, address, messages);
  const error = `The message has ${bytes} bytes, and proto-max-bulk-len of the server is ${maxBytes}.`;
  return { outcomes: [{ kind: 'permanent', error }] };
}

/** Hosted servers refuse this question, and have not changed the limit. */
async function maxBytesOf(client: RedisClient): Promise<number> {
  const answer = await client.configGet('proto-max-bulk-len').catch(ifRefused({}));
  const [text] = Object.values(answer);
  return text === undefined ? usualMaxBytes : Number(text);
}

/** The messages of a batch, and what has become of them so far. */
class OpenBatch {
  readonly #messages: readonly OutgoingMessage[];
  readonly #outcomes: (PublishOutcome | undefined)[];
  /** Keys of which a message was not acknowledged. */
  readonly #blocked = new Set<string>();
  #from = 0;

  constructor(messages: readonly OutgoingMessage[]) {
    this.#messages = messages;
    this.#outcomes = Array.from(messages, () => undefined);
  }

  /** The places of the next messages to be sent together; those that may not be sent are `held` from now on. */
  next(): readonly number[] {
    const places: number[] = [];
    let length = 0;
    for (let place = this.#from; place < this.#messages.length; place += 1) {
      const message = this.#messages[place];
      if (message === undefined || this.#outcomes[place] !== undefined) continue;
      if (message.key !== null && this.#blocked.has(message.key)) {
        this.#outcomes[place] = { kind: 'held' };
        continue;
      }
      const isLong = message.payload.length > longLength;
      length += message.payload.length;
      if (places.length > 0 && (isLong || length > mostLength || places.length >= mostMessages)) break;
      places.push(place);
      if (isLong) break;
    }
    this.#from = places[0] ?? this.#messages.length;
    return places;
  }

  at(places: readonly number[]): readonly OutgoingMessage[] {
    return places.flatMap((place) => this.#messages[place] ?? []);
  }

  /** @returns the hold, if the refusal means one */
  answered(places: readonly number[], { outcomes, refusal }: ChunkAnswer): Hold | undefined {
    for (const [n, outcome] of outcomes.entries()) this.#settle(places[n], outcome);
    if (refusal === undefined) return undefined;
    const failure = meaningOf(refusal);
    if (failure.kind === 'hold') return failure.hold;
    this.#settle(places[outcomes.length], failure.outcome);
    return undefined;
  }

  /** @returns the hold, if one begins */
  failed(places: readonly number[], error: unknown): Hold | undefined {
    const refusal = refusalOf(error instanceof NoConnection ? error.cause : error);
    const failure = refusal === undefined ? undefined : meaningOf(refusal);
    if (error instanceof NoConnection)
      return failure?.kind === 'hold' ? failure.hold : { scope: 'transport', reason: reasonOf(error) };
    if (failure?.kind === 'hold') return failure.hold;
    if (failure === undefined) {
      for (const place of places) this.#settle(place, maybeStored);
      return { scope: 'transport', reason: reasonOf(error) };
    }
    // Nobody knows which of them is to blame.
    for (const place of places) {
      const key = this.#messages[place]?.key ?? null;
      const behind = key !== null && this.#blocked.has(key);
      this.#settle(place, behind ? { kind: 'held', onWire: true } : failure.outcome);
    }
    return undefined;
  }

  result(hold: Hold | undefined): PublishResult {
    const outcomes = this.#outcomes.map((outcome) => outcome ?? unsent);
    const reason = hold ?? (outcomes.some(({ kind }) => kind === 'deferred') ? givenUp : undefined);
    return reason === undefined ? { outcomes } : { outcomes, hold: reason };
  }

  #settle(place: number | undefined, outcome: PublishOutcome): void {
    if (place === undefined) return;
    this.#outcomes[place] = outcome;
    const key = this.#messages[place]?.key ?? null;
    if (outcome.kind !== 'acknowledged' && key !== null) this.#blocked.add(key);
  }
}
