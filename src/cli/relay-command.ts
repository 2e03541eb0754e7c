import { type HealthServer, healthServer } from '../app/health-server.ts';
import { type MetricsServer, metricsServer } from '../app/relay/metrics-server.ts';
import { relayNews } from '../app/relay/relay-news.ts';
import { type RunningRelay, startRelay } from '../app/relay/start-relay.ts';
import { type Config, type RelayConfig, requireDatabase } from '../config/config.ts';
import { counted } from '../core/diagnosis.ts';
import type { Health } from '../core/health.ts';
import type { ListenAddress } from './flag-values.ts';
import { currentHost } from './host.ts';
import { exitCodes, type Output } from './output.ts';
import { explainEnd, type ProcessLog, processLog } from './process-log.ts';

/** What the flags of the command say. */
export interface RelayCommandOptions {
  /** Writes its log as text, else as lines of JSON. @defaultValue text on a terminal */
  readonly asText?: boolean;
  /** Serves the health of the relay there. @defaultValue nowhere */
  readonly health?: ListenAddress;
  /** Serves its metrics there. @defaultValue nowhere */
  readonly metrics?: ListenAddress;
}

/** Runs a relay until the signal fires. Its log goes to standard output, whole and in one form. */
export async function relayCommand(
  config: Config,
  output: Output,
  signal: AbortSignal,
  { asText = currentHost().stdout.isTTY ?? false, health, metrics }: RelayCommandOptions = {},
): Promise<number> {
  const log = processLog('temporal-outbox relay', output, asText && !output.json);
  let relay: RunningRelay | undefined;
  const serving: { stop(): Promise<void> }[] = [];
  try {
    const checked = requireDatabase(config, 'A relay');
    // Before the relay: a port that is taken must not be noticed by a relay that delivers, and metrics want to count its start.
    if (health !== undefined) serving.push(await serveHealth(() => relay?.health() ?? notYet, health, log));
    if (metrics !== undefined) serving.push(await serveMetrics(metrics, log));
    relay = startRelay(checked, { report: relayNews(log.info), logger: log });
    const stop = stopOf(relay, log);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    if (await untilReady(relay, signal)) {
      tellReady(checked, output, log, asText);
      void warnIfNotSearchable(relay, log);
      await relay.done;
    }
    log.info({ event: 'stopped' }, 'stopped');
    return exitCodes.ok;
  } catch (error) {
    return explainEnd(error, log, output, asText);
  } finally {
    await Promise.all(serving.map((server) => server.stop()));
  }
}

const notYet: Health = { state: 'starting', joined: false, lastProgressAt: null, failing: [] };

async function serveHealth(
  read: () => Health,
  address: ListenAddress,
  log: ProcessLog,
): Promise<HealthServer> {
  const server = await healthServer({ health: read }, address);
  const { host } = address;
  log.info(
    { event: 'health-served', host, port: server.port },
    `health at http://${host}:${server.port}/live`,
  );
  return server;
}

async function serveMetrics(address: ListenAddress, log: ProcessLog): Promise<MetricsServer> {
  const otlp = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'].some(
    (name) => (process.env[name] ?? '') !== '',
  );
  const server = await metricsServer({ ...address, otlp });
  const { host } = address;
  log.info(
    { event: 'metrics-served', host, port: server.port },
    `metrics at http://${host}:${server.port}/metrics`,
  );
  return server;
}

function stopOf(relay: RunningRelay, log: ProcessLog): () => void {
  return () => {
    log.info({ event: 'stopping' }, 'stopping');
    void relay.stop();
  };
}

function tellReady({ topics }: RelayConfig, output: Output, log: ProcessLog, asText: boolean): void {
  const delivering = `Delivering ${counted(topics.length, 'topic')}.`;
  if (asText && !output.json) output.line(`${delivering} Stop with Ctrl-C.`);
  else log.info({ event: 'ready', topics: topics.map((topic) => topic.name) }, delivering);
}

async function warnIfNotSearchable({ searchAttributes }: RunningRelay, log: ProcessLog): Promise<void> {
  // If Temporal never answers, there is nothing to search.
  if (await searchAttributes.catch(() => true)) return;
  log.warn(
    {
      event: 'search-attributes-missing',
      next: 'temporal operator search-attribute create --name OutboxTopic --type Keyword (and the other two).',
    },
    'Workflows are not searchable: the namespace lacks the keywords OutboxTopic, OutboxKey and OutboxRef.',
  );
}

/** @returns false if it was stopped before it could deliver */
async function untilReady({ ready }: RunningRelay, signal: AbortSignal): Promise<boolean> {
  try {
    await ready;
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
