import { createHash } from 'node:crypto';
import { listOf, type Table } from '../../core/options/collections.ts';
import { name } from '../../core/options/name.ts';
import { flag, matching, oneOf, optional } from '../../core/options/values.ts';
import type { Caller, Role } from '../authentication.ts';
import { roles } from '../caller.ts';

/** What somebody may do at the HTTP API. */
export interface Rights {
  /** `viewer` reads, `operator` changes messages, `admin` changes topics and the installation, and expunges. */
  readonly role: Role;
  /** Whether it may read payloads and headers. @defaultValue false */
  readonly payloads?: boolean;
  /** Only these topics, at least one. @defaultValue all */
  readonly topics?: readonly string[];
}

/** Readers of {@link Rights}. */
export const rightsTable = {
  role: oneOf(roles),
  payloads: flag(false),
  topics: optional(listOf(name(), 'a list of topics, at least one', { least: 1 })),
} satisfies Table<Rights>;

const nameForm = /^(?=.*\S)\P{C}{1,200}$/u;

/** The name of a caller, for the audit. */
export const callerName = matching(nameForm, 'a name of 1 to 200 characters without control characters');

/** True for what can be the name of a caller. */
export const isCallerName = (given: unknown): given is string =>
  typeof given === 'string' && given.length <= 200 && nameForm.test(given);

/** A caller with these rights. */
export function callerOf(
  called: string,
  {
    payloads,
    role,
    topics,
  }: { readonly role: Role; readonly payloads: boolean; readonly topics?: readonly string[] | undefined },
  ambient: boolean,
): Caller {
  return { name: called, role, payloads, ambient, ...(topics !== undefined && { topics }) };
}

/** True if no two have the same name. */
export const differentNames = (all: readonly { readonly name: string }[]): boolean =>
  new Set(all.map(({ name: called }) => called)).size === all.length;

/** SHA-256. */
export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
