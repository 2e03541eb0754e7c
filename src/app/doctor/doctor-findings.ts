import type { DoctorFinding } from '../../core/diagnosis.ts';
import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';
import { isTimeOut } from './time-out.ts';

/** The findings of a part. One that cannot be examined is a finding itself, and the others are examined all the same. */
export async function asFindings(
  check: string,
  work: () => Promise<readonly DoctorFinding[]>,
): Promise<readonly DoctorFinding[]> {
  try {
    return await work();
  } catch (error) {
    return [failedCheck(check, error)];
  }
}

/** A question that got no answer in time is asked once more: on a busy machine the first time-out proves nothing. */
export async function askTwice<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!isTimeOut(error)) throw error;
    return ask();
  }
}

function failedCheck(check: string, error: unknown): DoctorFinding {
  if (isTimeOut(error))
    return {
      check,
      state: 'unexamined',
      message: `It was not examined in time, twice, which says nothing about the server itself: ${reasonOf(error)}`,
      next: 'temporal-outbox doctor, once more; if that does not help, look at the server, the network and the load of this machine',
    };
  if (error instanceof OutboxError)
    return { check, state: 'problem', message: error.message, next: error.next };
  return {
    check,
    state: 'problem',
    message: `It could not be examined: ${reasonOf(error)}`,
    next: 'temporal-outbox doctor, once more',
  };
}
