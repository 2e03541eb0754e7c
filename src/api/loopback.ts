import { OutboxError } from '../core/errors.ts';
import type { Authentication } from './authentication.ts';
import { problemOf, problemType } from './problem.ts';
import { hostAsked } from './same-origin.ts';

const own = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * For a machine of one person: whoever reaches the loopback address is `name`, with every right. A request for another host is
 * refused: its name may have been pointed here by a page that the person visits (DNS rebinding).
 */
export function loopbackAuthentication(name: string): Authentication {
  return {
    caller: async () => ({ name, role: 'admin', payloads: true, ambient: true }),
    async handle(request) {
      const host = hostAsked(request).replace(/:\d+$/, '');
      if (own.has(host)) return undefined;
      const told = new OutboxError(
        'OUTBOX_REQUEST_CROSS_SITE',
        'This API answers to localhost only, because it asks for no sign-in.',
      );
      const { body, status } = problemOf(told, crypto.randomUUID(), 421);
      return new Response(body, { status, headers: { 'content-type': problemType } });
    },
  };
}

/** True for an address that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return ['localhost', '127.0.0.1', '::1'].includes(host.toLowerCase());
}
