// @module-tag apart
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { deployPath, deployText, yamlOf } from '../../unit/deploy/deploy-files.ts';
import { complaintsOf } from './kubernetes-schemas.ts';

/** The loader of the Compose Specification, which compose itself uses. Go fetches and builds it the first time. */
const composeLoader = 'github.com/compose-spec/compose-go/v2/cmd';
const version = 'v2.16.2';
const buildsWithinMs = 300_000;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function temporaryFile(name: string, text: string): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

/** Builds the loader; answers with its program. */
function builtLoader(): string {
  const folder = temporaryFolder();
  execFileSync('go', ['install', `${composeLoader}@${version}`], {
    env: { ...process.env, GOFLAGS: '-modcacherw', GOBIN: folder },
    stdio: 'pipe',
  });
  return join(folder, 'cmd');
}

function loadedByCompose(loader: string, text: string) {
  const file = temporaryFile('compose.yaml', text);
  return spawnSync(loader, ['--format=json', file], { cwd: join(file, '..'), encoding: 'utf8' });
}

test('Kubernetes knows every field of the manifests, and the type of each', {
  timeout: buildsWithinMs,
}, () => {
  // The monitor is of an operator's API, which Kubernetes does not have.
  const files = readdirSync(deployPath('kubernetes')).filter((file) => file !== 'pod-monitor.yaml');
  const objects = files.flatMap((file) => yamlOf(`kubernetes/${file}`));
  expect(objects.length).toBeGreaterThan(9);
  expect(objects.flatMap(complaintsOf)).toEqual([]);
  const broken = (find: string, replace: string) =>
    complaintsOf(parseDocument(deployText('kubernetes/migrate.yaml').replace(find, replace)).toJS());
  expect(broken('readOnlyRootFilesystem', 'readonlyRootFilesystem')).toEqual([
    expect.stringContaining('{"additionalProperty":"readonlyRootFilesystem"}'),
  ]);
  expect(broken('backoffLimit: 2', 'backoffLimit: two')).toEqual([
    expect.stringContaining('must be integer'),
  ]);
  expect(broken('batch/v1', 'batch/v0')).toEqual(['no API batch/v0']);
  expect(broken('name: migrate', 'label: migrate')).toContainEqual(
    expect.stringContaining('{"missingProperty":"name"}'),
  );
});

const loaded = z.object({
  services: z.record(
    z.string(),
    z.object({
      environment: z.record(z.string(), z.coerce.string()).default({}),
      depends_on: z.record(z.string(), z.unknown()).default({}),
      configs: z.array(z.object({ source: z.string() })).default([]),
      volumes: z.array(z.object({ type: z.string(), source: z.string() })).default([]),
    }),
  ),
  configs: z.record(z.string(), z.unknown()),
  volumes: z.record(z.string(), z.unknown()),
});

test('the loader of compose accepts its file, in which each address is that of a service', {
  timeout: buildsWithinMs,
}, () => {
  const loader = builtLoader();
  const { status, stderr, stdout } = loadedByCompose(loader, deployText('compose.yaml'));
  expect([status, stderr]).toEqual([0, '']);
  const { configs, services, volumes } = loaded.parse(JSON.parse(stdout));
  const {
    DATABASE_URL: url = '',
    KAFKA_BROKERS: kafka,
    TEMPORAL_ADDRESS: temporal,
  } = services['relay']?.environment ?? {};
  expect(Object.keys(services)).toEqual(
    expect.arrayContaining([new URL(url).hostname, kafka?.split(':')[0], temporal?.split(':')[0]]),
  );
  expect(services['kafka']?.environment['KAFKA_ADVERTISED_LISTENERS']).toBe(`PLAINTEXT://${kafka}`);

  // What it does not compare.
  for (const { configs: used, depends_on: needed, volumes: mounted } of Object.values(services)) {
    expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(needed)));
    expect(Object.keys(configs)).toEqual(expect.arrayContaining(used.map(({ source }) => source)));
    const named = mounted.flatMap(({ source, type }) => (type === 'volume' ? [source] : []));
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
  }
  const wrong = deployText('compose.yaml').replace('stop_grace_period', 'stop_grace_periods');
  expect(loadedByCompose(loader, wrong).status).not.toBe(0);
});
