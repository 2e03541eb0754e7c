import { late, orLate } from '../../../core/or-late.ts';

/** DEADLINE_EXCEEDED of gRPC. */
const deadlineExceeded = 4;

/**
 * What `work` resolves with, or an error of gRPC when that takes longer. The work itself goes on: a call carries the id of
 * its message, so nothing is done twice.
 *
 * @param reason of that error
 */
export async function inTime<Result>(work: Promise<Result>, ms: number, reason: string): Promise<Result> {
  const result = await orLate(work, ms);
  if (result === late) throw Object.assign(new Error(reason), { code: deadlineExceeded });
  return result;
}
