import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { commandTree } from '../../../src/cli/run-program.ts';
import { deployPath, deployText, yamlOf } from './deploy-files.ts';

const relayArguments = ['relay', '--config', 'dist/outbox.config.js', '--health', '8080', '--metrics'];
const metricsAt = '0.0.0.0:9464';

/** The words of a command that are neither one of the program's commands nor one of that command's options. */
function unknownIn(words: readonly string[]): readonly string[] {
  let command: Command = commandTree([]);
  const unknown: string[] = [];
  for (const [n, word] of words.entries()) {
    const next = command.commands.find((one) => one.name() === word);
    if (next !== undefined) command = next;
    else if (n === 0) unknown.push(word);
    else if (word.startsWith('--') && !command.options.some(({ long }) => long === word)) unknown.push(word);
  }
  return unknown;
}

const secured = z.object({
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    // A throttled relay looks frozen: no limit of CPU.
    limits: z.strictObject({ memory: z.string() }),
  }),
  args: z.array(z.string()),
  image: z.string(),
});
const nobody = z.object({
  runAsNonRoot: z.literal(true),
  runAsUser: z.number().min(1),
  seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
});
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const deployment = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    replicas: z.number().min(2),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({
        labels: z.record(z.string(), z.string()),
        annotations: z.record(z.string(), z.string()),
      }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        securityContext: nobody,
        containers: z.tuple([
          secured.extend({
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            startupProbe: z.undefined().optional(),
            livenessProbe: probe,
            readinessProbe: probe,
          }),
        ]),
      }),
    }),
  }),
});
const budget = z.object({
  kind: z.literal('PodDisruptionBudget'),
  spec: z.object({
    minAvailable: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
  }),
});
const job = z.object({
  kind: z.literal('Job'),
  spec: z.object({
    template: z.object({
      spec: z.object({
        restartPolicy: z.literal('Never'),
        securityContext: nobody,
        containers: z.tuple([secured]),
      }),
    }),
  }),
});

test('on Kubernetes two relays are probed where they answer, have 30 s to stop, and one of them always runs', () => {
  const [first, second] = yamlOf('kubernetes/relay.yaml');
  const { spec } = deployment.parse(first);
  const pod = spec.template.spec;
  const [container] = pod.containers;
  expect(container.args).toEqual([...relayArguments, metricsAt]);
  expect(container.ports).toEqual([
    { name: 'health', containerPort: 8080 },
    { name: 'metrics', containerPort: 9464 },
  ]);
  expect(spec.template.metadata.annotations['prometheus.io/port']).toBe('9464');
  expect([container.livenessProbe, container.readinessProbe]).toMatchObject([
    { httpGet: { path: '/live', port: 'health' } },
    { httpGet: { path: '/ready', port: 'health' } },
  ]);
  expect(pod.terminationGracePeriodSeconds).toBe(30);

  const disruption = budget.parse(second).spec;
  expect(disruption.minAvailable).toBeLessThan(spec.replicas);
  for (const labels of [spec.template.metadata.labels, disruption.selector.matchLabels])
    expect(labels).toEqual(spec.selector.matchLabels);
});

test('on Kubernetes the migration is a job of the same image, as restricted as a relay', () => {
  const [container] = job.parse(yamlOf('kubernetes/migrate.yaml')[0]).spec.template.spec.containers;
  const [relay] = deployment.parse(yamlOf('kubernetes/relay.yaml')[0]).spec.template.spec.containers;
  expect(container.image).toBe(relay.image);
  expect(unknownIn(container.args)).toEqual([]);
});

test('the container has no shell, runs as nobody, and starts a relay', () => {
  const text = deployText('Containerfile');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  expect(last).toMatch(/^\nFROM gcr\.io\/distroless\/nodejs22-debian12:nonroot$/m);
  expect(last).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  expect(last).not.toMatch(/^RUN /m);
  const command = /^CMD (?<words>\[.*\])$/m.exec(last)?.groups?.['words'];
  expect(JSON.parse(command ?? '')).toEqual([...relayArguments, metricsAt]);
  expect(/^EXPOSE (?<ports>.*)$/m.exec(last)?.groups?.['ports']).toBe('8080 9464');
});

test('compose has every server, and relays that may write nothing', () => {
  const { services, configs } = z
    .object({
      services: z.record(z.string(), z.looseObject({ volumes: z.array(z.string()).optional() })),
      configs: z.object({ prometheus: z.object({ content: z.string() }) }),
    })
    .parse(yamlOf('compose.yaml')[0]);
  expect(Object.keys(services).toSorted()).toEqual(
    ['grafana', 'kafka', 'migrate', 'postgres', 'prometheus', 'relay', 'temporal'].toSorted(),
  );
  expect(services['relay']).toMatchObject({ stop_grace_period: '30s', expose: ['8080', '9464'] });
  expect(configs.prometheus.content).toContain('port: 9464');
  const own = /^\.\/node_modules\/temporal-outbox\/deploy\/(?<file>[^:]+):/;
  const files = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.flatMap((volume) => own.exec(volume)?.groups?.['file'] ?? []),
  );
  expect(files.map((file) => [file, existsSync(deployPath(file))])).toEqual([
    ['prometheus/rules.yaml', true],
    ['grafana', true],
  ]);
  const merged = deployText('compose.yaml');
  expect(merged.match(/<<: \*relay/g)).toHaveLength(2);
  expect(merged).toMatch(/^x-relay: &relay$(?:\n .*)*\n {2}read_only: true$/m);
});

test('compose migrates once PostgreSQL and Kafka answer by TCP, and starts relays after that', {
  tags: ['start-waits-for-servers'],
}, () => {
  const checked = z.object({ healthcheck: z.object({ test: z.array(z.string()) }) });
  const { services } = z
    .object({
      services: z.object({
        kafka: checked,
        postgres: checked,
        migrate: z.looseObject({}),
        relay: z.looseObject({}),
      }),
    })
    .parse(yamlOf('compose.yaml')[0]);
  expect(services.migrate).toMatchObject({
    depends_on: { kafka: { condition: 'service_healthy' }, postgres: { condition: 'service_healthy' } },
  });
  expect(services.relay).toMatchObject({
    depends_on: { migrate: { condition: 'service_completed_successfully' } },
  });
  const asks = (service: z.output<typeof checked>): string => service.healthcheck.test.join(' ');
  // While the image initializes the database, its server listens on a socket only.
  expect(asks(services.postgres)).toMatch(/^CMD pg_isready -h 127\.0\.0\.1 /);
  expect(asks(services.kafka)).toMatch(/^CMD \S+ --bootstrap-server kafka:9092$/);
});

test('systemd gives a relay 30 s to stop, and it is nobody who may write nothing', () => {
  const unit = deployText('temporal-outbox-relay.service');
  for (const line of ['TimeoutStopSec=30', 'DynamicUser=yes', 'ProtectSystem=strict', 'NoNewPrivileges=yes'])
    expect(unit.split('\n')).toContain(line);
  const start = /^ExecStart=.*temporal-outbox\.js (?<words>.*)$/m.exec(unit)?.groups?.['words'];
  const onThisHost = (word: string): string => (/^\d+$/.test(word) ? `127.0.0.1:${word}` : word);
  expect(start?.split(' ')).toEqual([...relayArguments.map(onThisHost), '127.0.0.1:9464']);
  // Debian has it, containers may not.
  const analyze = '/usr/bin/systemd-analyze';
  if (!existsSync(analyze)) return;
  const file = deployPath('temporal-outbox-relay.service');
  const say = (...args: readonly string[]) => spawnSync(analyze, [...args, file], { encoding: 'utf8' });
  expect(say('verify')).toMatchObject({ status: 0, stderr: '' });
  // Its own measure in tenths, from 0 to 100: without the limits of the unit it is 92.
  expect(say('security', '--offline=true', '--threshold=20').status).toBe(0);
});

test('every command that the files of deploy/ and the runbook have people run is one of the program, with options that it has', () => {
  expect(unknownIn(relayArguments)).toEqual([]);
  const rules = deployText('prometheus/rules.yaml').matchAll(/^ *run: temporal-outbox (?<words>.*)$/gm);
  const runs = [...rules].map(({ groups }) => groups?.['words']?.split(' ') ?? []);
  expect(runs.length).toBeGreaterThan(10);
  expect(runs.flatMap(unknownIn)).toEqual([]);
  const runbook = readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
  const lines = [...runbook.matchAll(/(?:`|^)temporal-outbox (?<words>[^`#\n]*)/gm)];
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.flatMap(({ groups }) => unknownIn(groups?.['words']?.trim().split(' ') ?? []))).toEqual([]);
  expect(unknownIn(['statuss'])).toEqual(['statuss']);
  expect(unknownIn(['status', '--nothing'])).toEqual(['--nothing']);
});
