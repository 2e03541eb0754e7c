import { isDeepStrictEqual } from 'node:util';
import type { Caller, Role } from './authentication.ts';

/** From the least to the most. */
export const roles = ['viewer', 'operator', 'admin'] as const satisfies readonly Role[];

/** True if the role has the rights of `needed`. A role that is unknown has none. */
export function mayAct(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** True if authentication has made a whole caller: anything else must not become a right. */
export function isCaller(given: Caller): boolean {
  const { ambient, name, payloads, role, topics } = given;
  const named = typeof name === 'string' && name.trim() !== '' && name.length <= 200 && !/\p{C}/u.test(name);
  const flags = typeof ambient === 'boolean' && typeof payloads === 'boolean';
  const limits = topics === undefined || Array.isArray(topics);
  return named && flags && limits && roles.includes(role);
}

/** True if both have one name and the same rights, whatever else authentication says of them. */
export function isSameCaller(one: Caller, other: Caller): boolean {
  return isDeepStrictEqual(rightsOf(one), rightsOf(other));
}

function rightsOf({ ambient, name, payloads, role, topics }: Caller): Caller {
  return { ambient, name, payloads, role, ...(topics !== undefined && { topics }) };
}
