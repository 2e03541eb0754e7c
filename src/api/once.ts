import { createHash } from 'node:crypto';
import type { RepeatableRequest } from '../app/operations/served-operations.ts';
import { OutboxError } from '../core/errors.ts';
import type { Caller } from './authentication.ts';
import type { Operation, RequestParts } from './operation.ts';

/**
 * The request as it may be repeated; `undefined`: it has no `Idempotency-Key`, or changes nothing.
 *
 * @throws OutboxError `OUTBOX_REQUEST_INVALID`
 */
export function repeatable(
  request: Request,
  { name, once }: Operation,
  caller: Caller,
  given: RequestParts,
): RepeatableRequest | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === null || once !== true || isDryRun(given.body)) return undefined;
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw new OutboxError(
      'OUTBOX_REQUEST_INVALID',
      'An Idempotency-Key has 1 to 200 visible ASCII characters.',
    );
  const asked = JSON.stringify([
    name,
    given.path,
    given.query,
    given.body,
    request.headers.get('if-match'),
    // An answer is for those who may have it: names need not be unique, and rights may have changed since.
    caller.role,
    caller.payloads,
    caller.topics?.toSorted(),
  ]);
  return { actor: caller.name, key, digest: createHash('sha256').update(asked).digest('base64url') };
}

function isDryRun(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'dryRun' in body && body.dryRun === true;
}
