import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { requirePackages } from '../core/packages.ts';

export interface MetricsPageOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Sends them by OTLP as well, where the usual environment variables say. @defaultValue false */
  readonly otlp?: boolean;
  /** What else the page shows, in Prometheus' text. @defaultValue nothing */
  readonly more?: () => Promise<string>;
}

/** The page of a process's metrics. */
export interface MetricsPage {
  readonly port: number;
  /** Closes the page; what was not yet sent by OTLP is sent. */
  stop(): Promise<void>;
}

/**
 * Sets up the process's provider of metrics, and serves what it collects at `/metrics` in Prometheus' text. To be called before
 * what is to be measured starts.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`; rejects as `node:http` if the address cannot be listened at
 */
export async function serveMetrics(options: MetricsPageOptions): Promise<MetricsPage> {
  requirePackages('metrics');
  if (options.otlp === true) requirePackages('otlp');
  const { metrics } = await import('@opentelemetry/api');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  const { PrometheusExporter, PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus');
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const { host, port, more = async () => '' } = options;
  const collected = async (): Promise<string> => {
    const [{ resourceMetrics }, others] = await Promise.all([reader.collect(), more().catch(() => '')]);
    return serializer.serialize(withUnits(resourceMetrics)) + others;
  };
  const page = createServer((request, response) => void answer(request, response, collected));
  page.listen(port, host);
  await once(page, 'listening');
  const provider = new MeterProvider({
    readers: options.otlp === true ? [reader, await otlpReader()] : [reader],
  });
  metrics.setGlobalMeterProvider(provider);
  return {
    port: portOf(page),
    async stop() {
      page.close();
      page.closeAllConnections();
      metrics.disable();
      // A collector that is away must not hold up a stop.
      await provider.shutdown({ timeoutMillis: 1_000 }).catch(() => undefined);
    },
  };
}

async function answer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  collected: () => Promise<string>,
): Promise<void> {
  if (method !== 'GET' || url?.split('?')[0] !== '/metrics') {
    response.writeHead(404).end();
    return;
  }
  const text = await collected().catch(() => undefined);
  response.writeHead(text === undefined ? 500 : 200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
  response.end(text);
}

function portOf(page: Server): number {
  const address = page.address();
  if (address === null || typeof address === 'string') throw new Error('A listening server has a port.');
  return address.port;
}

/** As Prometheus wants names, and collectors write them: with the unit, which the serializer leaves out. */
function withUnits(collected: ResourceMetrics): ResourceMetrics {
  const scopeMetrics = collected.scopeMetrics.map((scope) => ({
    ...scope,
    metrics: scope.metrics.map((metric): MetricData => {
      const { descriptor } = metric;
      if (descriptor.unit !== 's') return metric;
      return { ...metric, descriptor: { ...descriptor, name: `${descriptor.name}.seconds` } };
    }),
  }));
  return { ...collected, scopeMetrics };
}

async function otlpReader() {
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const { PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  return new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() });
}
