import type {
  AggregationTemporality,
  InstrumentType,
  MetricData,
  ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { requirePackages } from '../core/packages.ts';

/** The metrics of a process, for those who ask. */
export interface MetricsExporter {
  /** What was measured so far, in Prometheus' text. */
  text(): Promise<string>;
  /** Measures nothing any more; what was not yet sent by OTLP is sent. */
  stop(): Promise<void>;
}

/**
 * Sets up the process's provider of metrics. To be called before what is to be measured starts.
 *
 * @param otlp sends them by OTLP as well, where the usual environment variables say
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export async function openExporter(otlp: boolean): Promise<MetricsExporter> {
  requirePackages('metrics');
  if (otlp) requirePackages('otlp');
  const { metrics } = await import('@opentelemetry/api');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  const choose = await temporality();
  const { PrometheusExporter, PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus');
  const reader = new PrometheusExporter({ preventServerStart: true });
  reader.selectAggregationTemporality = choose;
  const serializer = new PrometheusSerializer();
  const provider = new MeterProvider({ readers: otlp ? [reader, await otlpReader(choose)] : [reader] });
  metrics.setGlobalMeterProvider(provider);
  return {
    async text() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(withUnits(resourceMetrics));
    },
    async stop() {
      metrics.disable();
      // A collector that is away must not hold up a stop.
      await provider.shutdown({ timeoutMillis: 1_000 }).catch(() => undefined);
    },
  };
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

type Temporality = (instrument: InstrumentType) => AggregationTemporality;

/**
 * Cumulative, but for gauges: for those the SDK would keep exporting the last value of attributes that are no longer observed, such as the
 * number of failed messages of a topic that has none any more.
 */
async function temporality(): Promise<Temporality> {
  const { AggregationTemporality: of, InstrumentType: kinds } = await import('@opentelemetry/sdk-metrics');
  return (instrument) => (instrument === kinds.OBSERVABLE_GAUGE ? of.DELTA : of.CUMULATIVE);
}

async function otlpReader(choose: Temporality) {
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const { PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const exporter = new OTLPMetricExporter();
  exporter.selectAggregationTemporality = choose;
  return new PeriodicExportingMetricReader({ exporter });
}
