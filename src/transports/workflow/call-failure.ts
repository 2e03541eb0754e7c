import type { SendOutcome } from '../send-by-key.ts';

/**
 * What a failed call means for its message.
 *
 * - `hold`: Temporal cannot take calls now, and nobody's message is to blame; `onWire` tells whether this one may have been
 *   taken all the same.
 * - `exists`: a workflow of this id was started before.
 * - `missing`: no workflow of this id runs.
 */
type CallFailure =
  | { readonly kind: 'hold'; readonly onWire: boolean }
  | { readonly kind: 'permanent' | 'rejected' | 'ambiguous' | 'exists' | 'missing' };

/** By the status of gRPC, in the order of its numbers. A repeat is harmless: starts and signals carry the message's id. */
const failuresByStatus: Readonly<Record<number, CallFailure>> = {
  /** CANCELLED */ 1: { kind: 'hold', onWire: true },
  /** INVALID_ARGUMENT: too large, an id that is too long, too many signals */ 3: { kind: 'permanent' },
  /** DEADLINE_EXCEEDED */ 4: { kind: 'hold', onWire: true },
  /** NOT_FOUND; of the namespace see below */ 5: { kind: 'missing' },
  /** ALREADY_EXISTS */ 6: { kind: 'exists' },
  /** PERMISSION_DENIED */ 7: { kind: 'hold', onWire: false },
  /** RESOURCE_EXHAUSTED */ 8: { kind: 'hold', onWire: false },
  /** FAILED_PRECONDITION */ 9: { kind: 'rejected' },
  /** ABORTED */ 10: { kind: 'rejected' },
  /** UNAVAILABLE */ 14: { kind: 'hold', onWire: true },
  /** UNAUTHENTICATED */ 16: { kind: 'hold', onWire: false },
};

/** How a transport uses workflows, as far as failures depend on it. */
export interface FailureRules {
  /** True where a start carries the message: then one that was started before has it. */
  readonly startCarries: boolean;
  readonly missing: 'rejected' | 'permanent';
}

/** Says what it means that a call failed. What is no answer of gRPC proves nothing. */
export function classifyCall(error: unknown, { startCarries, missing }: FailureRules): SendOutcome {
  const reason = callReason(error);
  const status = statusOf(error);
  if (status === notFound && ofNamespace.test(reason)) return holdOf(reason, false);
  if (status === unknown && ofConnection.test(reason)) return holdOf(reason, true);
  const failure = failuresByStatus[status ?? -1] ?? { kind: 'ambiguous' };
  switch (failure.kind) {
    case 'hold':
      return holdOf(reason, failure.onWire);
    case 'exists':
      if (startCarries) return { kind: 'acknowledged', partition: null, offset: null };
      return { kind: missing, error: `The workflow has ended, and its id is not used again: ${reason}` };
    case 'missing':
      return { kind: missing, error: reason };
    default:
      return { kind: failure.kind, error: reason };
  }
}

const unknown = 2;
const notFound = 5;
/** What Temporal's client says of a connection that has ended, with a status that servers use for other things. */
const ofConnection = /^transport error\b/;
const ofNamespace = /^namespace\b/i;

function holdOf(reason: string, onWire: boolean): SendOutcome {
  return { kind: 'hold', hold: { scope: 'transport', reason: `Temporal: ${reason}` }, onWire };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** What the server said, without what the client has put around it. */
export function callReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = 'details' in error && typeof error.details === 'string' ? error.details : '';
  return said === '' ? error.message : said;
}
