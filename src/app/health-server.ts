import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Health, withoutText } from '../core/health.ts';
import type { Table } from '../core/options/collections.ts';
import { optionTable } from '../core/options/option-table.ts';
import { text, whole } from '../core/options/values.ts';
import { idleLimits, keepRoom, listen } from './listen.ts';

/** Where a {@link healthServer} listens. */
export interface HealthServerOptions {
  /** 0 to 65,535; 0: any that is free. */
  readonly port: number;
  /** An address or name of this machine. @defaultValue all addresses of this machine, as the kubelet needs it */
  readonly host?: string;
}

/** A running {@link healthServer}. */
export interface HealthServer {
  /** The port at which it listens. */
  readonly port: number;
  /** Ends it, and open connections with it. */
  stop(): Promise<void>;
}

const options = optionTable('healthServer()', {
  port: whole(0, 65_535),
  host: text('0.0.0.0'),
} satisfies Table<HealthServerOptions>);

/** What answers 200, by path: all else about the process is for people, who read its log or `status`. */
const probes: Readonly<Record<string, (health: Health) => boolean>> = {
  // The answer is the rest of the proof. A restart repairs no server: what fails must not count.
  '/live': ({ state }) => state !== 'stopped',
  '/ready': ({ joined }) => joined,
  '/started': ({ state }) => state === 'running' || state === 'stopping',
};

/**
 * Serves the health of a relay or a consumer to the probes of Kubernetes and load balancers: 200, or 503. `/live`: it has not
 * ended. `/ready`: it takes part in the work. `/started`: its start is over. The body, JSON, says what is failing since when, with the
 * code of an error of this library, but no text of an error, which could contain a payload or an address. Whoever reaches the port may
 * read it.
 *
 * @param of a running relay, or a consumer, also before its start
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PORT_UNAVAILABLE` if the address is in use or not one of this machine
 */
export async function healthServer(
  of: { health(): Health },
  given: HealthServerOptions,
): Promise<HealthServer> {
  const { host, port } = options.read(given);
  // A probe asks and leaves; nobody else may keep connections.
  const server = createServer(idleLimits, (request, response) => answer(of, request, response));
  keepRoom(server);
  const listening = await listen(server, { host, port });
  return {
    port: listening,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(of: { health(): Health }, { method, url }: IncomingMessage, response: ServerResponse): void {
  const path = url?.split('?', 1)[0] ?? '';
  const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
  if (probe === undefined) return void response.writeHead(404).end();
  if (method !== 'GET' && method !== 'HEAD') return void response.writeHead(405, { allow: 'GET' }).end();
  const health = of.health();
  response.writeHead(probe(health) ? 200 : 503, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify({ ...health, failing: health.failing.map(withoutText) }));
}
