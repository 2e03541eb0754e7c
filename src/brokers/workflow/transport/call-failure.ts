import { reasonOf } from '../../../core/reason.ts';
import { withoutSecrets } from '../../../core/secrets.ts';
import type { SendOutcome } from '../../send-by-key.ts';
import { EncodingFailure } from './encoding-failure.ts';

/**
 * What a failed call means for its message.
 *
 * - `hold`: Temporal accepts no calls now, and the message is not the cause; `onWire`: it may have been accepted
 *   nevertheless.
 * - `exists`: a workflow with this id was started before.
 * - `missing`: no workflow with this id is running.
 */
type CallFailure =
  | { readonly kind: 'hold'; readonly onWire: boolean }
  | { readonly kind: 'permanent' | 'rejected' | 'ambiguous' | 'exists' | 'missing' };

/** By gRPC status code. A repeated call is harmless, because starts and signals carry the id of the message. */
const failuresByStatus: Readonly<Record<number, CallFailure>> = {
  /** CANCELLED */ 1: { kind: 'hold', onWire: true },
  /** INVALID_ARGUMENT: too large, an id that is too long, too many signals */ 3: { kind: 'permanent' },
  /** DEADLINE_EXCEEDED */ 4: { kind: 'hold', onWire: true },
  /** NOT_FOUND, of a workflow; a missing namespace is a hold, see below */ 5: { kind: 'missing' },
  /** ALREADY_EXISTS */ 6: { kind: 'exists' },
  /** PERMISSION_DENIED */ 7: { kind: 'hold', onWire: false },
  /** RESOURCE_EXHAUSTED: a rate limit; of the size, and of one workflow, see below */ 8: {
    kind: 'hold',
    onWire: false,
  },
  /** FAILED_PRECONDITION */ 9: { kind: 'rejected' },
  /** ABORTED */ 10: { kind: 'rejected' },
  /** UNAVAILABLE */ 14: { kind: 'hold', onWire: true },
  /** UNAUTHENTICATED */ 16: { kind: 'hold', onWire: false },
};

/** The settings of a transport on which the meaning of a failure depends. */
export interface FailureRules {
  /** Whether the start carries the message: then a workflow that exists already has received it. */
  readonly startCarries: boolean;
  readonly missing: 'rejected' | 'permanent';
}

/** Classifies a failed call. An error without a gRPC status is ambiguous. */
export function classifyCall(error: unknown, { startCarries, missing }: FailureRules): SendOutcome {
  if (error instanceof EncodingFailure) return ofEncoding(error);
  const reason = callReason(error);
  const status = statusOf(error);
  if (status === notFound && ofNamespace.test(reason)) return holdOf(reason, false);
  if (status === exhausted && ofSize.test(reason)) return { kind: 'permanent', error: reason };
  if (status === exhausted && ofWorkflow.test(reason)) return { kind: 'rejected', error: reason };
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

/** A hold only where no message is encoded: one that its codec alone refuses would stop all others for good. */
function ofEncoding({ fault, message }: EncodingFailure): SendOutcome {
  if (fault === 'codec')
    return { kind: 'hold', hold: { scope: 'transport', reason: message }, onWire: false };
  return { kind: fault === 'refused' ? 'permanent' : 'rejected', error: message };
}

const unknown = 2;
const notFound = 5;
const exhausted = 8;
/** How Temporal's client reports a lost connection, with a status that servers use for other errors. */
const ofConnection = /^transport error\b/;
/** How gRPC itself refuses a call above its own limit, with the status for overload; waiting does not help. */
const ofSize = /\bmessage (?:length )?(?:is )?(?:too large|larger than max)/i;
/** What a server answers, with the status for overload, where one workflow gets more calls than it can take. */
const ofWorkflow = /^workflow is busy\b/i;
const ofNamespace = /^namespace\b/i;

function holdOf(reason: string, onWire: boolean): SendOutcome {
  return { kind: 'hold', hold: { scope: 'transport', reason: `Temporal: ${reason}` }, onWire };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** The server's message, without the text that the client adds. */
export function callReason(error: unknown): string {
  const said = error instanceof Error && 'details' in error ? error.details : '';
  return typeof said === 'string' && said !== '' ? withoutSecrets(said) : reasonOf(error);
}
