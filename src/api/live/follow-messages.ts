import { randomUUID } from 'node:crypto';
import type { MessageFilter, TailPlace } from '../../app/operations/served-operations.ts';
import { Loop } from '../../core/loop.ts';
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
    const reads = follow(call, filter, last, from);
    reads.start();
    return () => void reads.stop();
  };
}

/** Goes on after what could not be read, from where it was. */
function follow(
  { served, sight, sink }: StreamCall,
  filter: MessageFilter,
  last: number | undefined,
  from: TailPlace | undefined,
): Loop {
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
  return new Loop(async (signal) => {
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
    }
    return times.afterTrouble;
  });
}
