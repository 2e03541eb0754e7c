/** Generates docs/metrics.md from src/watch and src/telemetry. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const escaped = (text) => text.replaceAll('|', String.raw`\|`);

/** The page: each metric, what it means, when to look, and what to do then. */
export function metricsPage(metrics, prometheusName) {
  const row = (metric) => {
    const { attributes, meaning, watch } = metric;
    const of = attributes.length === 0 ? '' : ` By ${attributes.map((name) => `\`${name}\``).join(', ')}.`;
    const when = watch === undefined ? '' : escaped(watch.when);
    const then = watch === undefined ? '' : escaped(watch.todo);
    return `| \`${prometheusName(metric)}\` | ${escaped(meaning)}${of} | ${when} | ${then} |`;
  };
  return `# Metrics

Generated from \`src/watch\` and \`src/telemetry\` by \`npm run generated\`; do not edit.

\`temporal-outbox relay --metrics 9464\` serves them at \`/metrics\`, beside those of Temporal's SDK, and sends them by OTLP if
\`OTEL_EXPORTER_OTLP_ENDPOINT\` is set; it needs \`npm install @opentelemetry/api@1
@opentelemetry/sdk-metrics@2 @opentelemetry/exporter-prometheus@0.223\`, and to send them
\`@opentelemetry/exporter-metrics-otlp-proto@0.223\` as well. In your own process, senders, relays and consumers write to the \`MeterProvider\` that you have
set up before they start; without one nothing is measured. Have it export observable gauges with delta temporality, as \`relay --metrics\` does:
otherwise it goes on to tell the last value of what nobody reads any more, such as a certificate that is gone, a lag while the broker is
away, or all figures while no relay reads them. Names are those of Prometheus, attributes those of OpenTelemetry, which
Prometheus writes with underscores. No attribute has a key, a ref or an id. Of large batches, delays are those of 16 messages.

| metric | means | look when | then |
| --- | --- | --- | --- |
${metrics.map(row).join('\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { prometheusName } = await import('../dist/src/telemetry/metric.js');
  const { metrics } = await import('../dist/src/watch/metrics.js');
  writeFileSync(new URL('../docs/metrics.md', import.meta.url), metricsPage(metrics, prometheusName));
}
