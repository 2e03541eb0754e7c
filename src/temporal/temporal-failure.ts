import { OutboxError } from '../core/errors.ts';
import type { TemporalAddress } from './temporal-address.ts';

/** Status codes of gRPC that say nothing about the question: cancelled, deadline, exhausted, aborted, unavailable. */
const passing = new Set([1, 4, 8, 10, 14]);

/**
 * Names the server and the namespace of a call that failed.
 *
 * @returns undefined for an error that Temporal did not cause
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
  const said = [error, grpc]
    .flatMap((each) => (each instanceof Error ? [each.message.replace(/\.$/, '')] : []))
    .filter((text, index, all) => all.indexOf(text) === index)
    .join(': ');
  return new OutboxError(
    away ? 'OUTBOX_SERVER_UNAVAILABLE' : 'OUTBOX_SERVER_REFUSED',
    `Temporal ${away ? 'does not answer' : 'refuses'} at ${address} (namespace "${namespace}"): ${said}.`,
    { details: { server: 'Temporal', address, namespace }, cause: error },
  );
}

/** By its shape, as the class above goes by its name: this file is loaded where Temporal may not be installed. */
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
