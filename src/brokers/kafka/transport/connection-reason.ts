import { codeTextOf, reasonOf } from '../../../core/reason.ts';
import { withoutSecrets } from '../../../core/secrets.ts';
import { brokenConnection } from '../client/reason.ts';

/** Why a connection to a broker could not be opened, or was lost, and what to look at. */
export function connectionReason(broker: string, error: unknown): string {
  const cause = innermost(error);
  const said = saidByBroker(cause) ?? reasonOf(cause);
  // The client's own word for a connection that the other side has ended, without a failure behind it.
  const ended = said.startsWith('Connection closed');
  return brokenConnection(broker, { code: codeTextOf(cause), ended, said });
}

/** A cause may lead back to its error. */
const mostLayers = 10;

/** The client wraps what a socket, or a broker, says. */
function innermost(error: unknown): unknown {
  let current = error;
  for (let layer = 0; layer < mostLayers; layer += 1) {
    const inner = innerOf(current);
    if (inner === undefined) break;
    current = inner;
  }
  return current;
}

function innerOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length === 1) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}

/** A refusal has the client's text, and beside it that of the broker. */
function saidByBroker(error: unknown): string | undefined {
  const said: unknown = error instanceof Error ? Reflect.get(error, 'serverErrorMessage') : undefined;
  return typeof said === 'string' ? withoutSecrets(said) : undefined;
}
