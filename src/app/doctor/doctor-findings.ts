import type { DoctorFinding } from '../../core/diagnosis.ts';
import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';
import { statementFailure } from '../../store/database/statement-failure.ts';
import { isTimeOut } from './time-out.ts';

/** The findings of a part. A part that cannot be examined is itself a finding, and does not keep others from being examined. */
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

/** Repeats a question once if it times out: on a busy machine the first timeout proves nothing. */
export async function askTwice<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!isTimeOut(error)) throw error;
    return ask();
  }
}

function failedCheck(check: string, thrown: unknown): DoctorFinding {
  const error = statementFailure(thrown) ?? thrown;
  if (isTimeOut(error))
    return {
      check,
      state: 'unexamined',
      message: `The check timed out twice, which says nothing about the server: ${reasonOf(error)}`,
      next: 'run temporal-outbox doctor again; if that does not help, look at the server, the network and the load of this machine',
    };
  if (error instanceof OutboxError)
    return { check, state: 'problem', message: error.message, next: error.next };
  return {
    check,
    state: 'problem',
    message: `It could not be examined: ${reasonOf(error)}`,
    next: 'run temporal-outbox doctor again',
  };
}
