import { OutboxError } from '../../core/errors.ts';
import { looking } from '../../core/loop.ts';
import { rest } from '../../core/rest.ts';
import type { Database } from '../../store/database/database.ts';
import {
  leaveRequest,
  type RepeatableRequest,
  requestTouchedMs,
  type StoredAnswer,
  storeAnswer,
  takeRequest,
  touchRequest,
} from '../../store/request/request.ts';

/** An answer as it is given. */
export interface GivenAnswer extends StoredAnswer {
  /** It says that there is more to wait for. @defaultValue false */
  readonly unfinished?: boolean;
}

/** Between looks for the answer to a request that is answered elsewhere, at most. */
const longestLookMs = 500;

/**
 * The answer of the first such request; if there was none, or none to keep, that of `work`. Of equal requests at once, at any number
 * of processes, one works, and the others wait for its answer.
 *
 * @throws OutboxError `OUTBOX_REQUEST_REPEATED`, `OUTBOX_REQUEST_LIMITED` if that takes longer than `waitMs`
 */
export async function answerOnce(
  at: Database,
  request: RepeatableRequest,
  waitMs: number,
  work: () => Promise<GivenAnswer>,
): Promise<StoredAnswer> {
  const first = await firstAnswer(at, request, waitMs);
  if (first !== undefined) return first;
  // In one transaction a repeat waits for its end, and nobody sees the rest.
  const answer = await (at.inOne === true ? work() : whileTaken(at, request, work));
  if (answer.unfinished === true) await leaveRequest(at, request);
  else await storeAnswer(at, request, answer);
  return answer;
}

/** @returns nothing if the request was taken to be answered here */
async function firstAnswer(
  at: Database,
  request: RepeatableRequest,
  waitMs: number,
): Promise<StoredAnswer | undefined> {
  const untilMs = performance.now() + waitMs;
  for (let lookMs = 20; ; lookMs = Math.min(2 * lookMs, longestLookMs)) {
    const earlier = await takeRequest(at, request);
    if (earlier.kind === 'answered') return earlier.answer;
    if (earlier.kind === 'taken') return undefined;
    if (earlier.kind === 'other')
      throw new OutboxError(
        'OUTBOX_REQUEST_REPEATED',
        'The Idempotency-Key was used for another request within the last day.',
      );
    if (performance.now() > untilMs)
      throw new OutboxError(
        'OUTBOX_REQUEST_LIMITED',
        'The first request with this Idempotency-Key is still being answered.',
      );
    await rest(lookMs);
  }
}

/** Keeps the request taken while it is worked on. */
async function whileTaken<Result>(
  at: Database,
  request: RepeatableRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  // One that is missed costs a repeat nothing but that it may work, too.
  const touch = () => touchRequest(at, request).catch(() => undefined);
  const touching = looking(touch, requestTouchedMs);
  touching.start(requestTouchedMs);
  try {
    return await work();
  } catch (error) {
    await leaveRequest(at, request).catch(() => undefined);
    throw error;
  } finally {
    await touching.stop();
  }
}
