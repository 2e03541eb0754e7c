import { OutboxError } from '../../core/errors.ts';

/** Sends one event. */
export type SendEvent = (event: string, data: object) => void;

/** Milliseconds. A proxy closes a stream on which nothing comes; a stream that ends has its caller proved again. */
const times = { heartbeat: 15_000, longest: 15 * 60_000, reconnect: 2_000 };
/** Events that wait for a slow reader; further ones are left out. */
const mostWaiting = 16;
const mostPerCaller = 5;

/** The streams that are open, by caller. */
export class OpenStreams {
  readonly #counts = new Map<string, number>();
  readonly #ends = new Set<() => void>();

  /**
   * A response whose body goes on until the request or the server ends.
   *
   * @param open begins to send; returns what ends that
   * @throws OutboxError `OUTBOX_REQUEST_LIMITED` if the caller has five of them
   */
  respond(caller: string, signal: AbortSignal, open: (send: SendEvent) => () => void): Response {
    const count = this.#counts.get(caller) ?? 0;
    if (count >= mostPerCaller)
      throw new OutboxError('OUTBOX_REQUEST_LIMITED', `You have ${mostPerCaller} open streams.`);
    this.#counts.set(caller, count + 1);
    const ends = this.#ends;
    const counts = this.#counts;
    let end = (): void => undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const write = (text: string): void => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(Buffer.from(text));
          };
          write(`retry: ${times.reconnect}\n\n`);
          const stop = open((event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
          const beat = setInterval(() => write(':\n\n'), times.heartbeat);
          const limit = setTimeout(() => end(), times.longest);
          let ended = false;
          end = () => {
            if (ended) return;
            ended = true;
            clearInterval(beat);
            clearTimeout(limit);
            stop();
            ends.delete(end);
            const left = (counts.get(caller) ?? 1) - 1;
            if (left === 0) counts.delete(caller);
            else counts.set(caller, left);
            // A body that its reader has canceled is closed already.
            if (controller.desiredSize !== null) controller.close();
          };
          ends.add(end);
          signal.addEventListener('abort', end, { once: true });
          if (signal.aborted) end();
        },
        cancel: () => end(),
      },
      { highWaterMark: mostWaiting },
    );
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /** Ends all. */
  close(): void {
    for (const end of this.#ends) end();
  }
}
