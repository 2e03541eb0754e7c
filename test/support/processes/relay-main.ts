import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { startTimedRelay } from '../../../src/app/relay/start-relay.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { http, kafka, type Transport, type WorkflowMessage, workflow } from '../../../src/transports.ts';
import { journalTransport } from '../fixtures/journal.ts';
import type { RelayProcessOptions, Resources } from './relay-process.ts';

// A relay that publishes to Kafka, or to the journal in its database; `relay-process.ts` starts it with its settings.
const settings = JSON.parse(process.argv[2] ?? '') as RelayProcessOptions;
const { alertsTo, crash, url, temporalAddress } = settings;

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF' } },
  shutdownSignals: [],
});

if (crash !== undefined) {
  crashAt(crash.point, { pass: crash.pass, instead: () => process.kill(process.pid, crash.signal) });
}
function transportOf({ brokers, http: posting, workflows }: RelayProcessOptions): Transport {
  if (posting !== undefined) return http({ ...posting, allow: ['127.0.0.1'], requestTimeout: '2s' });
  if (workflows !== undefined) {
    const id = ({ payload }: WorkflowMessage): string =>
      `${workflows.type}-${(payload as { readonly n: number }).n}`;
    return workflow({ ...workflows, taskQueue: 'nobody', id });
  }
  return brokers === undefined ? journalTransport(url) : kafka({ servers: brokers });
}

const relay = startTimedRelay(
  {
    database: { url },
    temporal: { address: temporalAddress },
    topics: settings.topics.map((topic) => ({ ...topic, schema: z.unknown() })),
    transports: { only: transportOf(settings) },
    ...(alertsTo !== undefined && { alerts: { interval: '1s', to: { webhook: { url: alertsTo } } } }),
  },
  {
    report: (event) => process.stdout.write(`${JSON.stringify(event)}\n`),
    ...(settings.buildId !== undefined && {
      workers: {
        workerDeploymentOptions: {
          useWorkerVersioning: false,
          version: { deploymentName: 'relay', buildId: settings.buildId },
        },
      },
    }),
  },
  settings.timings ?? {},
);
process.once('SIGTERM', () => void relay.stop());
process.on('message', () => process.send?.(resourcesNow()));
// The IPC channel alone does not keep the process alive.
process.channel?.unref();
await relay.ready;
process.stdout.write('ready\n');

function resourcesNow(): Resources {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  return { heapBytes: process.memoryUsage().heapUsed, resources };
}
