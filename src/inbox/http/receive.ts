import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { OutboxError } from '../../core/errors.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { answerRequest, type ReceiveWork, type RequestAnswer } from './answer-request.ts';
import { type ReceiveOptions, type ReceiveSettings, receiveSettings } from './receive-options.ts';

/**
 * Receives a message that the transport `http`, or another sender by Standard Webhooks, has posted: for handlers that take a
 * `Request` and answer a `Response`.
 *
 * The signature must be made with one of the secrets, at most five minutes ago. Then `work` is done in a transaction, once
 * per group and id of the message: effects and id commit together, and a repetition is answered as success without it.
 *
 * It answers 204 for what is done, now or before; 401 for a wrong signature, 413 for a body that is too long, 408 for one that
 * is too late, 400 for one that is not the JSON it claims to be; 500 when `work` fails, and 422 when it rejects with
 * `permanent(error)`, with the text of that error; 503 with `Retry-After` while the database is away, not migrated, out of
 * connections, or has another transaction in the way. The sender repeats what fails, by its own rules; the transport `http`
 * waits after a 503, which costs the message no attempt.
 *
 * @param request its body must not have been read
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, also for a body that was read; `OUTBOX_PACKAGE_MISSING` without standardwebhooks;
 * and whatever the function `secret` throws, which `report` gets as well. Nothing else: errors of the work go to `report` only.
 */
export async function receive<Tx extends Transaction>(
  request: Request,
  options: ReceiveOptions<Tx>,
  work: ReceiveWork<Tx>,
): Promise<Response> {
  return receiver(options, work)(request);
}

/**
 * Makes a handler that does with each request what {@link receive} does. Its options are checked now, not at the first request.
 *
 * @returns a function whose promise rejects only for a body that was read before, and with what the function `secret` throws
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without standardwebhooks
 * @example
 * export const POST = receiver({ client: prisma, group: 'inventory', secret: env('INVENTORY_SECRET'), report }, deduct);
 */
export function receiver<Tx extends Transaction>(
  options: ReceiveOptions<Tx>,
  work: ReceiveWork<Tx>,
): (request: Request) => Promise<Response> {
  const settings = receiveSettings(options, work);
  return async (request) => {
    const answer = await reported(settings, request.headers.get(idHeader), () => {
      if (request.bodyUsed) throw bodyRead();
      const arrived = { headers: [...request.headers], body: request.body ?? nothing() };
      return answerRequest(arrived, settings, work);
    });
    const { status, reason } = answer;
    return new Response(reason === '' ? null : reason, { status, headers: headersOf(answer) });
  };
}

/**
 * {@link receive} for handlers of `node:http`, Express and the like. It resolves when the answer was handed over; before it
 * rejects, it answers 500.
 *
 * @param request its body must not have been read: no `express.json()` before it
 */
export async function receiveNode<Tx extends Transaction>(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReceiveOptions<Tx>,
  work: ReceiveWork<Tx>,
): Promise<void> {
  return receiverNode(options, work)(request, response);
}

/** {@link receiver} for handlers of `node:http`, Express and the like. */
export function receiverNode<Tx extends Transaction>(
  options: ReceiveOptions<Tx>,
  work: ReceiveWork<Tx>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const settings = receiveSettings(options, work);
  return (request, response) => answerNode(request, response, settings, work);
}

async function answerNode<Tx extends Transaction>(
  request: IncomingMessage,
  response: ServerResponse,
  settings: ReceiveSettings<Tx>,
  work: ReceiveWork<Tx>,
): Promise<void> {
  const answering = reported(settings, request.headers[idHeader], () => {
    if (request.readableDidRead) throw bodyRead();
    return answerOf(request, settings, work);
  });
  let failure: { readonly error: unknown } | undefined;
  const answer = await answering.catch((error: unknown): RequestAnswer => {
    failure = { error };
    return { status: 500, reason: 'The request cannot be received.' };
  });
  // The rest of the body is not read, so the connection cannot be reused.
  if (!request.complete) response.setHeader('connection', 'close');
  response.writeHead(answer.status, headersOf(answer));
  const handedOver = finished(response).catch(() => undefined);
  response.end(answer.reason);
  if (failure === undefined) return;
  // Whoever hears of it may close the connection, and the sender would wait for its own time limit.
  await handedOver;
  throw failure.error;
}

const idHeader = 'webhook-id';

/** The sender gets nothing of what this rejects with, and frameworks may drop it. */
async function reported<Tx extends Transaction>(
  { report }: ReceiveSettings<Tx>,
  id: string | readonly string[] | null | undefined,
  answer: () => Promise<RequestAnswer>,
): Promise<RequestAnswer> {
  try {
    return await answer();
  } catch (error) {
    report(error, String(id ?? ''));
    throw error;
  }
}

/** The answer to a request whose body nobody has read. */
async function answerOf<Tx extends Transaction>(
  request: IncomingMessage,
  settings: ReceiveSettings<Tx>,
  work: ReceiveWork<Tx>,
): Promise<RequestAnswer> {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  // An error here means that the client has disconnected; there is nothing left to do.
  request.on('error', () => undefined);
  // A refusal that leaves the body unread must still be answered.
  return answerRequest({ headers, body: request.iterator({ destroyOnReturn: false }) }, settings, work).catch(
    (error: unknown) => {
      if (request.destroyed && !request.complete) return { status: 400, reason: 'The body ended too early.' };
      throw error;
    },
  );
}

function headersOf({ reason, retryAfterS }: RequestAnswer): Record<string, string> {
  return {
    ...(reason !== '' && { 'content-type': 'text/plain; charset=utf-8' }),
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function bodyRead(): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    'The body of the request was read before receive(): nobody can verify its signature any more.',
    { details: { option: 'request' } },
  );
}
