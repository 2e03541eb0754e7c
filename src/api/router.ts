import { randomUUID } from 'node:crypto';
import { type Context, Hono } from 'hono';
import type { ServedOperations } from '../app/operations/served-operations.ts';
import type { Trouble } from '../config/logger.ts';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { packageVersion } from '../operations/package-version.ts';
import { type Answer, answerOf, assertRights, noteDenied } from './answer.ts';
import type { Authentication, Caller } from './authentication.ts';
import { isCaller, isSameCaller } from './caller.ts';
import { Denied } from './denied.ts';
import { assertBounds, queryOf, Refused } from './input.ts';
import { eventStreamHeaders, OpenStreams } from './live/event-stream.ts';
import { LiveStatus } from './live/live-status.ts';
import type { Stream, StreamCall } from './live/stream.ts';
import { streamTable } from './live/streams.ts';
import { MethodRefused, methodCheck } from './methods.ts';
import { openApiOf } from './openapi.ts';
import { problemOf, problemType } from './problem.ts';
import { Scope } from './scope.ts';
import { withSecurityHeaders } from './security-headers.ts';
import { operationTable } from './table/table.ts';

/** What the routes are made of. */
export interface RouterParts {
  readonly served: ServedOperations;
  readonly authentication: Authentication;
  readonly basePath: string;
  readonly report: ((trouble: Trouble) => void) | undefined;
}

/** The routes of the API. */
export interface Router {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Ends the streams. */
  readonly close: () => void;
}

interface Env {
  readonly Variables: { requestId: string; caller: Caller; operation: string };
}

type Asking = Context<Env>;
interface Following extends Pick<StreamCall, 'live' | 'served'> {
  readonly authentication: Authentication;
  readonly streams: OpenStreams;
}

const documentPath = '/openapi.json';

/** Makes a route of every operation and stream; each request is proved before it is looked at. */
export function createRouter(parts: RouterParts): Router {
  const { authentication, basePath, served } = parts;
  const streams = new OpenStreams();
  const live = new LiveStatus(() => served.run('read', (at) => at.status()));
  const app = new Hono<Env>().basePath(basePath === '' ? '/' : basePath);
  app.onError((error, context) => refusal(parts, error, context));
  app.notFound((context) =>
    problem(
      new Refused(404, new OutboxError('OUTBOX_REQUEST_INVALID', 'There is no such operation.')),
      context,
    ),
  );
  const assertMethod = methodCheck([
    ...operationTable,
    ...[...streamTable.map(({ path }) => path), documentPath].map((path) => ({
      method: 'GET' as const,
      path,
    })),
  ]);
  app.use('*', async (context, next) => {
    context.set('requestId', randomUUID());
    context.set('operation', 'request');
    assertBounds(context.req.raw);
    const own = await answeredBy(authentication, context.req.raw);
    if (own !== undefined) return own;
    context.set('caller', await proved(authentication, context.req.raw));
    assertMethod(context.req.method, context.req.path.slice(basePath.length));
    await next();
    return undefined;
  });
  for (const operation of operationTable) {
    app.on(operation.method, routeOf(operation.path), async (context) => {
      context.set('operation', operation.name);
      return respond(await answerOf(served, operation, askedIn(context)));
    });
  }
  for (const stream of streamTable) {
    app.get(routeOf(stream.path), (context) => {
      context.set('operation', stream.name);
      return follow(stream, context, { authentication, live, served, streams });
    });
  }
  const document = JSON.stringify(openApiOf(operationTable, streamTable, packageVersion()));
  app.get(documentPath, () => respond({ status: 200, body: document }));
  return {
    fetch: async (request) => withSecurityHeaders(await app.fetch(request)),
    close: () => streams.close(),
  };
}

/** `/messages/:id` of `/messages/{id}`. */
function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * The answer to a request to its own paths.
 *
 * @throws Refused for what would be the caller's fault elsewhere, such as an option that is read late: here the configuration is wrong
 */
async function answeredBy(authentication: Authentication, request: Request): Promise<Response | undefined> {
  try {
    return await authentication.handle?.(request);
  } catch (cause) {
    if (problemOf(cause, '').status >= 500) throw cause;
    throw unprovable(cause);
  }
}

/** @throws Refused if it proves nobody, or if that cannot be known; OutboxError `OUTBOX_REQUEST_LIMITED` */
async function proved(authentication: Authentication, request: Request): Promise<Caller> {
  const caller = await authentication.caller(request).catch((cause: unknown) => {
    if (cause instanceof OutboxError && cause.code === 'OUTBOX_REQUEST_LIMITED') throw cause;
    throw unprovable(cause);
  });
  if (caller === undefined)
    throw new Refused(401, new OutboxError('OUTBOX_REQUEST_UNPROVED', 'The request proves no caller.'));
  if (isCaller(caller)) return caller;
  throw new Refused(
    503,
    new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'Authentication returned no caller.', {
      details: authenticator,
    }),
  );
}

/** What does not answer, unless the error says what it needs. */
const authenticator = { server: 'Authentication' };

/** What failed is for the log only. */
function unprovable(cause: unknown): Refused {
  return new Refused(
    503,
    new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'The caller cannot be proved now.', {
      cause,
      details: { ...authenticator, ...(cause instanceof OutboxError && cause.details) },
    }),
  );
}

function follow(
  stream: Stream,
  context: Asking,
  { authentication, live, served, streams }: Following,
): Response {
  const { caller } = context.var;
  const request = context.req.raw;
  assertRights(stream, caller);
  const open = stream.prepare({
    query: queryOf(request),
    scope: new Scope(caller),
    lastId: request.headers.get('last-event-id') ?? undefined,
  });
  // Nobody reads what follows the head, so nobody would end it.
  if (request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders });
  const mayGoOn = () => isStillProved(authentication, request, caller);
  return streams.respond({ name: caller.name, signal: request.signal, mayGoOn }, (sink) =>
    open({ live, served, sight: caller, sink }),
  );
}

/** Whether the request proves the same caller with the same rights as before. While that cannot be known, it counts as proved. */
async function isStillProved(
  authentication: Authentication,
  request: Request,
  before: Caller,
): Promise<boolean> {
  try {
    const now = await authentication.caller(request);
    return now !== undefined && isSameCaller(now, before);
  } catch {
    return true;
  }
}

function askedIn(context: Asking) {
  const { caller, requestId } = context.var;
  return { request: context.req.raw, requestId, caller, params: context.req.param() };
}

function respond({ body, etag, status }: Answer): Response {
  return new Response(body, {
    status,
    headers: {
      'content-type': status < 400 ? 'application/json' : problemType,
      ...(etag !== undefined && { etag }),
    },
  });
}

/** The answer to what was thrown. Denials are noted first: without the note there is no answer but that the server failed. */
async function refusal(parts: RouterParts, error: unknown, context: Asking): Promise<Response> {
  const { operation, requestId } = context.var;
  try {
    if (error instanceof Denied) await noteDenied(parts.served, { name: operation }, askedIn(context), error);
  } catch (failure) {
    return refusal(parts, failure, context);
  }
  const response = problem(error, context);
  if (response.status >= 500) {
    parts.report?.({
      level: 'error',
      facts: {
        component: 'temporal-outbox api',
        event: 'request-failed',
        requestId,
        operation,
        status: response.status,
        error: reasonOf(rootOf(error)),
      },
      message: `A request to the API failed: ${operation}.`,
    });
  }
  const challenge = parts.authentication.challenge;
  if (error instanceof MethodRefused) response.headers.set('allow', error.allow);
  if (response.status === 401 && challenge !== undefined) response.headers.set('www-authenticate', challenge);
  return response;
}

function problem(error: unknown, { var: { requestId } }: Asking): Response {
  if (error instanceof Refused) return respond(problemOf(error.told, requestId, error.status));
  return respond(problemOf(error instanceof Denied ? error.told : error, requestId));
}

function rootOf(error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  return error.told.cause ?? error.told;
}
