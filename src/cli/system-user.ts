import { userInfo } from 'node:os';
import { environment } from '../config/env.ts';

/** The user who runs the command, for the audit. Containers do not set USER and may run as a user id without a name. */
export function systemUser(): string {
  return environment('USER') ?? environment('LOGNAME') ?? nameOfSystem();
}

function nameOfSystem(): string {
  try {
    return userInfo().username || numberOfUser();
  } catch {
    return numberOfUser();
  }
}

function numberOfUser(): string {
  const uid = process.getuid?.();
  return uid === undefined ? 'unknown' : `uid ${uid}`;
}
