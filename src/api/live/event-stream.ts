import { OutboxError } from '../../core/errors.ts';
import { startTimer } from '../../core/timer.ts';

/** Where a stream writes. */
export interface EventSink {
  /** Sends one event; left out if sixteen wait for a slow reader. */
  send(event: string, data: object): void;
  /** Tells the client what to send as `Last-Event-ID` when it connects again. */
  mark(id: string): void;
  /** Waits until the reader has room for an event, or the stream has ended. */
  room(): Promise<void>;
}

/** Who follows a stream. */
export interface Follower {
  readonly name: string;
  /** Fires when the request ends. */
  readonly signal: AbortSignal;
  /** Asked at every heartbeat: false ends the stream. Never rejects. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Milliseconds. A proxy closes a stream on which nothing comes. */
const times = { heartbeat: 15_000, longest: 15 * 60_000, reconnect: 2_000 };
/** Events that wait for a slow reader; further ones are left out. */
const mostWaiting = 16;
const mostPerCaller = 5;
/** Of all callers: each may ask the database every second. */
const mostOpen = 100;

/** The head of a stream. */
export const eventStreamHeaders: Readonly<Record<string, string>> = { 'content-type': 'text/event-stream' };

/** The streams that are open, by caller. */
export class OpenStreams {
  readonly #counts = new Map<string, number>();
  readonly #ends = new Set<() => void>();

  /**
   * A response whose body goes on until the request or the server ends, or the follower may not go on.
   *
   * @param open begins to send; returns what ends that
   * @throws OutboxError `OUTBOX_REQUEST_LIMITED` if the caller has five of them, or all together a hundred
   */
  respond({ mayGoOn, name: caller, signal }: Follower, open: (sink: EventSink) => () => void): Response {
    const count = this.#counts.get(caller) ?? 0;
    if (count >= mostPerCaller)
      throw new OutboxError('OUTBOX_REQUEST_LIMITED', `You have ${mostPerCaller} open streams.`);
    if (this.#ends.size >= mostOpen)
      throw new OutboxError('OUTBOX_REQUEST_LIMITED', `There are ${mostOpen} open streams.`);
    this.#counts.set(caller, count + 1);
    const readers: Readers = { waiting: new Set(), gone: false };
    const release = (): void => {
      for (const go of readers.waiting) go();
      readers.waiting.clear();
    };
    let end = (): void => undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const { sink, stop } = begin(controller, readers, open);
          const ask = oneAtATime(mayGoOn, () => end());
          const beat = setInterval(() => {
            sink.write(':\n\n');
            void ask();
          }, times.heartbeat);
          const limit = startTimer(() => end(), times.longest);
          end = () => {
            if (!this.#ends.delete(end)) return;
            clearInterval(beat);
            clearTimeout(limit);
            stop();
            this.#leave(caller);
            // A body that its reader has canceled is closed already.
            if (!readers.gone) controller.close();
            readers.gone = true;
            release();
          };
          this.#ends.add(end);
          signal.addEventListener('abort', end, { once: true });
          if (signal.aborted) end();
        },
        pull: release,
        cancel: () => {
          readers.gone = true;
          end();
        },
      },
      { highWaterMark: mostWaiting },
    );
    return new Response(body, { headers: eventStreamHeaders });
  }

  /** Ends all. */
  close(): void {
    for (const end of this.#ends) end();
  }

  #leave(caller: string): void {
    const left = (this.#counts.get(caller) ?? 1) - 1;
    if (left === 0) this.#counts.delete(caller);
    else this.#counts.set(caller, left);
  }
}

/** @param otherwise called for an answer of no */
function oneAtATime(question: () => Promise<boolean>, otherwise: () => void): () => Promise<void> {
  let asking = false;
  return async () => {
    if (asking) return;
    asking = true;
    const yes = await question();
    asking = false;
    if (!yes) otherwise();
  };
}

/** Who waits for room, and whether nobody reads any more. */
interface Readers {
  readonly waiting: Set<() => void>;
  gone: boolean;
}

function begin(
  controller: ReadableStreamDefaultController<Uint8Array>,
  readers: Readers,
  open: (sink: EventSink) => () => void,
) {
  const hasRoom = (): boolean => (controller.desiredSize ?? 0) > 0;
  const write = (text: string): void => {
    if (!readers.gone && hasRoom()) controller.enqueue(Buffer.from(text));
  };
  const sink: EventSink = {
    send: (event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    mark: (id) => write(`id: ${id}\n\n`),
    room: async () => {
      if (!readers.gone && !hasRoom()) await new Promise<void>((resolve) => readers.waiting.add(resolve));
    },
  };
  write(`retry: ${times.reconnect}\n\n`);
  return { sink: { ...sink, write }, stop: open(sink) };
}
