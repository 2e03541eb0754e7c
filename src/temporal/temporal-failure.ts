import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { OutboxError } from '../core/errors.ts';
import type { TemporalAddress } from './connection.ts';

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
  const inner = error instanceof ServiceError ? error.cause : error;
  const grpc = isGrpcServiceError(inner) ? inner : undefined;
  if (grpc === undefined && !(error instanceof ServiceError)) return undefined;
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
