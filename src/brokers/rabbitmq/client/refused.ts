import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import { codeOf } from './reason.ts';

const accessRefused = 403;
const otherProperties = 406;

/** The error while a server cannot be used. */
export function serverUnavailable(reason: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `RabbitMQ: ${reason}`, { cause });
}

/**
 * Why something could not be created.
 *
 * @param what for example `the exchange orders`
 */
export function notCreated(what: string, error: unknown): OutboxError {
  if (error instanceof OutboxError) return error;
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  const reason = reasonOf(error);
  const rest = { cause: error, details: { what } };
  if (code === accessRefused)
    return new OutboxError(
      'OUTBOX_PRIVILEGE_MISSING',
      `RabbitMQ does not let this user create ${what}: ${reason}`,
      rest,
    );
  if (code === otherProperties)
    return new OutboxError(
      'OUTBOX_ADDRESS_UNFIT',
      `RabbitMQ has ${what} with other properties: ${reason}`,
      rest,
    );
  return serverUnavailable(reason, error);
}
