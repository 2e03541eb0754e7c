import type { IncomingMessage, ServerResponse } from 'node:http';
import { requirePackages } from '../core/packages.ts';
import type { ApiHandler } from './handler.ts';
import { noteAddress } from './remote-address.ts';

/** Answers a request of `node:http`. */
export type ApiListener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * The API for `node:http`, Express, NestJS, and other servers that give away the request and response of Node. Where one shortens
 * the path to what is below its prefix, as Express and NestJS do, the whole path counts: `basePath` names the prefix.
 *
 * Mount it before whatever reads bodies: a body that is gone is refused. Stopping the server does not end the streams:
 * `api.close()` does.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function apiListener(api: ApiHandler): ApiListener {
  requirePackages('api');
  let made: Promise<ApiListener> | undefined;
  return (request, response) => {
    const whole: unknown = Reflect.get(request, 'originalUrl');
    if (typeof whole === 'string') request.url = whole;
    made ??= listenerOf(api);
    void made.then((answer) => answer(request, response));
  };
}

/** Loaded on demand, so that its package is needed by its users only. */
async function listenerOf(api: ApiHandler): Promise<ApiListener> {
  const { getRequestListener } = await import('@hono/node-server');
  const listener = getRequestListener(
    (request, { incoming }) => {
      noteAddress(request, incoming.socket.remoteAddress);
      return api(request);
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => void listener(request, response);
}
