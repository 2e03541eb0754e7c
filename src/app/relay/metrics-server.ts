import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { quietRuntime } from '../../brokers/workflow/client/runtime.ts';
import { requirePackages } from '../../core/packages.ts';
import { openExporter } from '../../telemetry/exporter.ts';
import { idleLimits, keepRoom, listen } from '../listen.ts';

export interface MetricsServerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Sends them by OTLP as well, where the usual environment variables say. @defaultValue false */
  readonly otlp?: boolean;
}

/** Serves the metrics of a process. */
export interface MetricsServer {
  readonly port: number;
  /** Ends it, after the relays of this process; what was not yet sent by OTLP is sent. */
  stop(): Promise<void>;
}

/**
 * Serves the metrics of the relays that this process starts from now on, and those of Temporal's SDK, at `/metrics` in
 * Prometheus' text.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`, `OUTBOX_PORT_UNAVAILABLE`
 */
export async function metricsServer({
  host,
  otlp = false,
  port,
}: MetricsServerOptions): Promise<MetricsServer> {
  requirePackages('temporal');
  const exporter = await openExporter(otlp);
  // Temporal's SDK serves them at an address that must be known before: another process may take it in between.
  const ofTemporal = `127.0.0.1:${await freePort()}`;
  const text = async (): Promise<string> => {
    const [own, temporal] = await Promise.all([exporter.text(), pageOf(ofTemporal).catch(() => '')]);
    return own + temporal;
  };
  const server = createHttpServer(idleLimits, (request, response) => void answer(request, response, text));
  keepRoom(server);
  const listening = await listen(server, { host, port }).catch(async (error: unknown) => {
    await exporter.stop();
    throw error;
  });
  const runtime = quietRuntime(ofTemporal);
  return {
    port: listening,
    async stop() {
      server.close();
      server.closeAllConnections();
      await exporter.stop();
      await runtime?.shutdown();
    },
  };
}

async function answer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  text: () => Promise<string>,
): Promise<void> {
  if (method !== 'GET' || url?.split('?', 1)[0] !== '/metrics') {
    response.writeHead(404).end();
    return;
  }
  const body = await text().catch(() => undefined);
  response.writeHead(body === undefined ? 500 : 200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
  response.end(body);
}

async function pageOf(address: string): Promise<string> {
  const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(1_000) });
  return response.text();
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}
