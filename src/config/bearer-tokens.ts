import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authentication, Caller, Role } from '../core/authentication.ts';
import { listOf, object, type Table } from '../core/options/collections.ts';
import { type Lazy, lazy } from '../core/options/lazy.ts';
import { optionTable } from '../core/options/option-table.ts';
import { flag, matching, oneOf, optional, text, where } from '../core/options/values.ts';

/** A token that proves a caller of the HTTP API. */
export interface BearerToken {
  /** Whose it is, for the audit: 1 to 200 characters. */
  readonly name: string;
  /** SHA-256 of the token, in hex: `temporal-outbox api-token` makes both. The token itself stays with the caller. */
  readonly hash: Lazy<string>;
  /** What the caller may do. */
  readonly role: Role;
  /** Whether it may read payloads and headers. @defaultValue false */
  readonly payloads?: boolean;
  /** Only these topics. @defaultValue all */
  readonly topics?: readonly string[];
}

const table = optionTable('bearerTokens()', {
  tokens: listOf(
    object({
      name: where(text(), 'must have 1 to 200 characters', (name) => name.length > 0 && name.length <= 200),
      hash: lazy(
        matching(/^[\da-f]{64}$/i, 'a SHA-256 hash in hex, as `temporal-outbox api-token` prints it'),
      ),
      role: oneOf<Role>(['viewer', 'operator', 'admin']),
      payloads: flag(false),
      topics: optional(listOf(text(), 'a list of names of topics', { least: 1 })),
    } satisfies Table<BearerToken>),
    'a list of at least one token',
    { least: 1 },
  ),
});

/**
 * Callers of the HTTP API prove themselves by `Authorization: Bearer …`. Only hashes are kept, so whoever reads the configuration
 * cannot call. A token is compared with all of them in the same time, whether it is known or not. One of fewer than 43 characters, which cannot
 * have 32 random bytes, proves nobody, whatever its hash.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function bearerTokens(tokens: readonly BearerToken[]): Authentication {
  const known = table.read({ tokens }).tokens;
  return {
    challenge: 'Bearer',
    async caller(request) {
      const [, given] =
        /^Bearer ([\w~+/.=-]{43,512})$/i.exec(request.headers.get('authorization') ?? '') ?? [];
      if (given === undefined) return undefined;
      const hash = createHash('sha256').update(given).digest();
      let found: Caller | undefined;
      // All of them, so that the time says nothing about the place of a token.
      for (const { hash: expected, name, payloads, role, topics } of known)
        if (timingSafeEqual(Buffer.from(expected(), 'hex'), hash))
          found = { name, role, payloads, ambient: false, ...(topics !== undefined && { topics }) };
      return found;
    },
  };
}
