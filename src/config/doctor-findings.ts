import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import type { DoctorFinding } from '../operations/doctor/check.ts';

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

function failedCheck(check: string, error: unknown): DoctorFinding {
  if (error instanceof OutboxError)
    return { check, state: 'problem', message: error.message, next: error.next };
  return {
    check,
    state: 'problem',
    message: `It could not be examined: ${reasonOf(error)}`,
    next: 'temporal-outbox doctor, once more',
  };
}
