import { once } from 'node:events';
import { createServer } from 'node:net';
import { quietRuntime } from '../../brokers/workflow/client/runtime.ts';
import { requirePackages } from '../../core/packages.ts';
import { type MetricsPage, type MetricsPageOptions, serveMetrics } from '../../telemetry/metrics-page.ts';

/**
 * Serves the metrics of the relays that this process starts from now on, and those of Temporal's SDK on the same page.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`; rejects as `node:http` if the address cannot be listened at
 */
export async function exportMetrics(options: Omit<MetricsPageOptions, 'more'>): Promise<MetricsPage> {
  requirePackages('temporal');
  // Temporal's SDK serves them at an address that must be known before: another process may take it in between.
  const address = `127.0.0.1:${await freePort()}`;
  const page = await serveMetrics({ ...options, more: () => pageOf(address) });
  quietRuntime(address);
  return page;
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
