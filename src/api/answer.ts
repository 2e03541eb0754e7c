import type {
  GivenAnswer,
  RequestOperations,
  ServedOperations,
  StoredAnswer,
} from '../app/operations/served-operations.ts';
import { errorRules, OutboxError } from '../core/errors.ts';
import { textOf } from '../core/reason.ts';
import { isVersion } from '../operations/edit-content.ts';
import { unknownNames } from '../operations/known-names.ts';
import type { Caller } from './authentication.ts';
import { mayAct } from './caller.ts';
import { Denied } from './denied.ts';
import { bodyOf, queryOf } from './input.ts';
import { repeatable } from './once.ts';
import type { Call, Operation } from './operation.ts';
import { problemOf } from './problem.ts';
import { requireSameOrigin } from './same-origin.ts';
import { Scope } from './scope.ts';

/** One request, whose caller is proved. */
export interface Asked {
  readonly request: Request;
  readonly requestId: string;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
}

/** An answer, and what the audit has to say about it. */
export interface Answer extends StoredAnswer {
  readonly etag?: string;
}

/** @throws Denied if the caller lacks the rights */
export function assertRights(
  { allTopics, name, payloads, role }: Pick<Operation, 'allTopics' | 'name' | 'payloads' | 'role'>,
  caller: Caller,
): void {
  const needs = (right: string) =>
    new OutboxError('OUTBOX_REQUEST_DENIED', `${name} needs ${right}, and you are ${caller.role}.`);
  if (!mayAct(caller.role, role)) throw new Denied('role', needs(`the role ${role}`));
  if (payloads === true && !caller.payloads)
    throw new Denied('payloads', needs('the right to read payloads'));
  if (allTopics === true) new Scope(caller).requireAll();
}

/**
 * Carries out an operation. Refusals that its caller can do something about are answers, too, so that what the audit says of them
 * is committed.
 *
 * @throws Denied, Refused, OutboxError
 */
export async function answerOf(
  served: ServedOperations,
  operation: Operation,
  asked: Asked,
): Promise<Answer> {
  const { caller, params, request, requestId } = asked;
  assertRights(operation, caller);
  if (operation.method !== 'GET' && caller.ambient) requireSameOrigin(request);
  const given = {
    path: params,
    query: queryOf(request),
    body: await bodyOf(request, operation),
  };
  const act = operation.prepare(given);
  let [denied, etag]: [Denied?, string?] = [];
  const work = async (at: RequestOperations): Promise<GivenAnswer> => {
    try {
      const value = await act(callOf(at, asked));
      etag = operation.versioned === true ? versionOf(value) : undefined;
      const unfinished = operation.unfinished?.(value) === true;
      return { status: 200, body: JSON.stringify(value), unfinished };
    } catch (error) {
      if (error instanceof Denied) denied = error;
      const { body, code, status } = problemOf(denied?.told ?? error, requestId);
      if (status >= 500) throw error;
      // What passes by itself is no answer to keep for a day.
      return { status, body, unfinished: errorRules[code].retryable };
    }
  };
  const repeated = repeatable(request, operation, caller, given);
  const answer = await (repeated === undefined
    ? served.run(operation.way, work, caller)
    : served.once(repeated, operation.way, work, caller));
  if (denied !== undefined) await noteDenied(served, operation, asked, denied);
  return { ...answer, ...(etag !== undefined && { etag }) };
}

/** Writes in the audit that a request was denied, unless it named a topic that there is not. */
export async function noteDenied(
  served: ServedOperations,
  { name }: Pick<Operation, 'name'>,
  { caller, request, requestId }: Omit<Asked, 'params'>,
  { message: why, told, topic }: Denied,
): Promise<void> {
  const { pathname } = new URL(request.url);
  await served.run('change', async (at) => {
    // A caller may name any topic: what there is not is not somebody else's.
    const named = topic !== null && told.code === 'OUTBOX_TOPIC_UNKNOWN';
    if (named && (await unknownNames(at, { topic })) !== undefined) return;
    await at.note({
      actor: caller.name,
      action: name,
      messageId: null,
      topic,
      result: 'denied',
      details: { why, path: pathname.slice(0, 500), requestId },
    });
  });
}

function callOf(at: RequestOperations, { caller, request }: Asked): Call {
  return {
    at,
    caller,
    scope: new Scope(caller),
    version: () => versionAsked(request),
    author: ({ dryRun, reason }) => ({
      actor: caller.name,
      ...(reason !== undefined && { reason }),
      ...(dryRun !== undefined && { dryRun }),
    }),
  };
}

function versionAsked(request: Request): string | undefined {
  const asked = request.headers.get('if-match')?.replaceAll(/^(?:W\/)?"|"$/g, '');
  if (asked === undefined || asked === '*') return undefined;
  if (isVersion(asked)) return asked;
  throw new OutboxError(
    'OUTBOX_REQUEST_INVALID',
    'The header If-Match must be the ETag of the message, its "version" in quotes.',
  );
}

function versionOf(value: object): string | undefined {
  const message: unknown = Reflect.get(value, 'message');
  if (typeof message !== 'object' || message === null || !('version' in message)) return undefined;
  return `"${textOf(message.version)}"`;
}
