import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import type { TemporalAddress } from './temporal-address.ts';

/** gRPC status codes that are not about the request itself: cancelled, deadline, exhausted, aborted, unavailable. */
const passing = new Set([1, 4, 8, 10, 14]);

/**
 * Adds the server and the namespace to the error of a failed call.
 *
 * @returns `undefined` for an error that Temporal did not cause
 */
export function temporalFailure(
  { address, namespace }: TemporalAddress,
  error: unknown,
): OutboxError | undefined {
  const ofService = error instanceof Error && error.name === 'ServiceError';
  const inner = ofService ? error.cause : error;
  const grpc = isGrpcError(inner) ? inner : undefined;
  if (grpc === undefined && !ofService) return undefined;
  const away = grpc === undefined || passing.has(grpc.code);
  const said = reasonOf(error).replace(/\.$/, '');
  const server = `${address} (namespace "${namespace}")`;
  return new OutboxError(
    away ? 'OUTBOX_SERVER_UNAVAILABLE' : 'OUTBOX_SERVER_REFUSED',
    `Temporal ${away ? `does not answer at ${server}` : `at ${server} refuses the call`}: ${said}.`,
    { details: { server: 'Temporal', address, namespace }, cause: error },
  );
}

/** By shape, as the class above is checked by name: this file is loaded even if Temporal's packages are not installed. */
function isGrpcError(error: unknown): error is Error & { readonly code: number } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'number' &&
    'details' in error &&
    typeof error.details === 'string' &&
    'metadata' in error
  );
}
