import type { Operation } from './operation.ts';
import { sessionCookie } from './sign-in/cookies.ts';

/** The ways to prove a caller, for the OpenAPI document. Which of them are accepted is a matter of the configuration. */
export const securitySchemes = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of a program, from `temporal-outbox api-token`: if the API has `bearerTokens()`.',
  },
  password: {
    type: 'http',
    scheme: 'basic',
    description: 'Name and password of a person: if the API has `basicUsers()`.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description:
      'The session of a person who has signed in at `/sign-in` in a browser: if the API has `openIdConnect()`.',
  },
} as const;

/** One of the ways is enough. */
export const security: readonly Readonly<Record<string, readonly string[]>>[] = Object.keys(
  securitySchemes,
).map((name) => ({ [name]: [] }));

/** What callers may do, and what says so of an operation. */
export const rightsInWords = [
  'Every request needs a caller; only `temporal-outbox api --without-sign-in` asks for no proof. `GET /me` lists the rights of yours.',
  'A viewer reads, an operator changes messages, an admin changes topics and the installation, and expunges; each may do what the one before may. `x-role` of an operation is the least role.',
  'Reading payloads and headers is a right of its own, whatever the role: an operation with `x-payloads` needs it, too.',
  'A caller may be limited to topics: nothing else exists for it, and it cannot use an operation with `x-all-topics`.',
  '`x-events` of a stream has the schema of the data of each of its events.',
].join(' ');

/** The rights that an operation needs, for programs by extensions, and in a sentence. */
export function neededRights({
  allTopics,
  payloads,
  role,
}: Pick<Operation, 'allTopics' | 'payloads' | 'role'>): Readonly<Record<string, unknown>> {
  const needs = payloads === true ? `the role ${role} and the right to read payloads` : `the role ${role}`;
  return {
    description: `Needs ${needs}.${allTopics === true ? ' Not for callers that are limited to topics.' : ''}`,
    'x-role': role,
    ...(payloads === true && { 'x-payloads': true }),
    ...(allTopics === true && { 'x-all-topics': true }),
  };
}
