import { randomUUID } from 'node:crypto';
import type { MessageFilter, TailPlace } from '../../app/operations/served-operations.ts';
import { rest } from '../../core/rest.ts';
import { problemOf } from '../problem.ts';
import type { StreamCall } from './stream.ts';
import { placeOfText, textOfPlace } from './tail-place.ts';

/** Milliseconds. A place that is not sent grows old, and what is read after it more. */
const times = { betweenPlaces: 10_000, afterTrouble: 2_000 };

/**
 * Tells messages that are new or have changed.
 *
 * @param last with how many of the newest it begins, if it does not continue another stream
 * @param lastId the place that another stream sent last; one that is no place counts as none
 */
export function followMessages(
  filter: MessageFilter,
  last: number | undefined,
  lastId: string | undefined,
): (call: StreamCall) => () => void {
  const from = lastId === undefined ? undefined : placeOfText(lastId);
  return (call) => {
    const stop = new AbortController();
    void follow(call, filter, { last, from, signal: stop.signal });
    return () => stop.abort();
  };
}

interface Following {
  readonly last: number | undefined;
  readonly from: TailPlace | undefined;
  readonly signal: AbortSignal;
}

/** Goes on after what could not be read, from where it was. Never rejects. */
async function follow(
  { served, sight, sink }: StreamCall,
  filter: MessageFilter,
  { from, last, signal }: Following,
): Promise<void> {
  let place = from;
  let count = last;
  let markedAt = -Infinity;
  const mark = async (at: TailPlace): Promise<void> => {
    const id = textOfPlace(at);
    if (id === undefined) return;
    await sink.room();
    sink.mark(id);
    markedAt = performance.now();
  };
  while (!signal.aborted) {
    try {
      const options = { signal, ...(count !== undefined && { last: count }) };
      for await (const step of served.follow(filter, options, place, sight)) {
        for (const message of step.messages) {
          await sink.room();
          sink.send('message', message);
        }
        ({ place } = step);
        count = undefined;
        if (step.messages.length > 0 || performance.now() - markedAt > times.betweenPlaces) await mark(place);
      }
    } catch (error) {
      sink.send('trouble', { code: problemOf(error, randomUUID()).code });
      await rest(times.afterTrouble, signal);
    }
  }
}
