import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { send, topic } from '../../../src/index.ts';
import { migrate, readMigrations } from '../../../src/store/installation/migrate.ts';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { applyRoles, type Roles } from '../../support/fixtures/roles.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { composeRelay } from './compose.ts';
import { Podman, type RunningContainer } from './podman.ts';
import { type Probe, podsOf } from './pods.ts';
import { printedBy } from './sandbox.ts';
import { buildShop, shop } from './shop-image.ts';
import { propertiesOf, startSystemd } from './systemd.ts';

const minutes = 60_000;
/** From one message to the next, while relays are replaced. */
const everyMs = 10;
let podman: Podman;
beforeAll(async () => {
  podman = await Podman.open();
  await buildShop(podman);
}, 10 * minutes);
afterAll(() => podman.end());

const kafka = observer(inject('kafkaBrokers'));
const orders = topic('orders', z.object({ n: z.number() }));

/** The variables that the application's configuration reads. */
const servers = (databaseUrl: string): Readonly<Record<string, string>> => ({
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  KAFKA_BROKERS: inject('kafkaBrokers'),
});
const variables = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([name, value]) => `--env=${name}=${value}`);

const statusOf = async (port: number, path: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status;

async function databaseWithRoles(onTestFinished: (work: () => Promise<void>) => void): Promise<Roles> {
  const made = await createEmptyDatabase();
  onTestFinished(() => made.drop());
  return applyRoles(made);
}

/** The image that has been built. */
const imageConfig = z.tuple([
  z.object({
    Config: z.object({
      User: z.string(),
      Cmd: z.array(z.string()),
      ExposedPorts: z.record(z.string(), z.unknown()),
      StopSignal: z.string(),
    }),
  }),
]);

test('the image has the built application, no tool of its build, no shell, and no file that a developer left', async () => {
  const [{ Config: config }] = imageConfig.parse(JSON.parse(await podman.call('image', 'inspect', shop)));
  expect(config).toMatchObject({ User: '65532:65532', StopSignal: 'SIGTERM' });
  expect(Object.keys(config.ExposedPorts)).toEqual(['8080/tcp', '9464/tcp']);
  expect(config.Cmd).toEqual(podsOf('relay.yaml').args((port) => port));

  const folder = podman.sandbox.at((await podman.call('image', 'mount', shop)).replace('/mnt/', ''));
  expect(readdirSync(`${folder}/app`).toSorted()).toEqual(['dist', 'node_modules', 'package.json']);
  expect(readdirSync(`${folder}/app/dist`)).toEqual(['outbox.config.js']);
  const packages = readdirSync(`${folder}/app/node_modules`);
  expect(packages).toContain('temporal-outbox');
  expect(packages.filter((name) => ['typescript', 'junk'].includes(name))).toEqual([]);
  await podman.call('image', 'unmount', shop);
  expect((await podman.try('run', '--rm', '--entrypoint=/bin/sh', '--cgroups=disabled', shop)).code).not.toBe(
    0,
  );
});

/** A pod as the manifest has it, and where its ports are on this machine. */
interface Pod {
  readonly container: RunningContainer;
  url(port: string, path: string): string;
}

/** Asks once, as a kubelet does. */
async function answers(pod: Pod, { httpGet, timeoutSeconds }: Probe): Promise<number> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
  return fetch(pod.url(httpGet.port, httpGet.path), { signal }).then(
    ({ status }) => status,
    () => 0,
  );
}

async function succeeds(pod: Pod, probe: Probe | undefined, timeout: number): Promise<void> {
  if (probe === undefined) throw new Error('The manifest has no such probe.');
  await expect.poll(() => answers(pod, probe), { timeout, message: pod.container.output() }).toBe(200);
}

/** The memory of the biggest process of a container, at most, in MiB. */
async function peakMiB({ name }: RunningContainer): Promise<number> {
  const pid = await podman.call('inspect', '--format={{.State.Pid}}', name);
  const peak = /VmHWM:\s+(?<kib>\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.groups?.['kib'];
  return Number(peak) / 1_024;
}

test('on Kubernetes a migration and relays run as their manifests say, and a rollout under load sends each message once', {
  timeout: 5 * minutes,
}, async ({ onTestFinished }) => {
  const roles = await databaseWithRoles(onTestFinished);
  const address = await createTopic(kafka, { numPartitions: 3 });
  const own = { ORDERS_ADDRESS: address };
  const job = podsOf('migrate.yaml');
  const env = (role: 'owner' | 'relay') => variables({ ...servers(roles.urlOf(role)), ...own });
  const migrating = podman.start(
    [...job.options, ...env('owner')],
    shop,
    job.args((port) => port),
  );
  expect([await migrating.exited, migrating.output()]).toEqual([
    0,
    expect.stringContaining('Announced 1 topic'),
  ]);
  await roles.apply();

  const pods = podsOf('relay.yaml');
  expect([job.secret, pods.secret]).toEqual(['outbox-owner', 'outbox']);
  const begin = async (): Promise<Pod> => {
    const ports = new Map<number, number>();
    for (const port of Object.values(pods.ports)) ports.set(port, await freePort());
    const portOf = (port: number): number => ports.get(port) ?? 0;
    const container = podman.start([...pods.options, ...env('relay')], shop, pods.args(portOf));
    const url = (port: string, path: string) => `http://127.0.0.1:${portOf(pods.ports[port] ?? 0)}${path}`;
    return { container, url };
  };
  const ready = async (pod: Pod): Promise<Pod> => {
    const { live, ready: whenReady } = pods.probes;
    await succeeds(pod, live, live === undefined ? 0 : live.periodSeconds * live.failureThreshold * 1_000);
    // Who is not ready yet is not restarted.
    await succeeds(pod, whenReady, 2 * minutes);
    return pod;
  };
  const old = await Promise.all(Array.from({ length: pods.replicas }, async () => ready(await begin())));

  let sent = 0;
  const loading = new AbortController();
  const run = byPg(roles.as('sender'));
  const load = (async () => {
    while (!loading.signal.aborted) {
      await run((tx) => send(tx, orders, { n: (sent += 1) }, { key: `k${sent % 8}` }));
      await delay(everyMs);
    }
  })();
  const ends: { readonly code: number | null; readonly ms: number }[] = [];
  const stop = async ({ container }: Pod): Promise<void> => {
    const from = performance.now();
    const code = await container.stop(pods.graceSeconds);
    ends.push({ code, ms: performance.now() - from });
  };
  // No pod too few, one too many: the manifest's maxUnavailable and maxSurge.
  const young: Pod[] = [];
  for (const leaving of old) {
    young.push(await ready(await begin()));
    await stop(leaving);
  }
  loading.abort();
  await load;
  const arrived = async () => (await readTopic(kafka, address)).map(({ payload }) => numberOf(payload));
  const all = Array.from({ length: sent }, (_, n) => n + 1);
  await expect.poll(async () => (await arrived()).length).toBeGreaterThanOrEqual(sent);
  expect((await arrived()).toSorted((a, b) => a - b)).toEqual(all);

  const [first] = young;
  if (first === undefined) throw new Error('No pod was started.');
  const page = await fetch(first.url('metrics', '/metrics')).then((answer) => answer.text());
  expect(page).toMatch(/^temporal_num_pollers\{/m);
  for (const { container } of young) expect(await peakMiB(container)).toBeLessThan(pods.memoryMiB);
  await Promise.all(young.map(stop));
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(pods.graceSeconds * 1_000);
});

function numberOf(payload: string | null): number {
  return z.object({ n: z.number() }).parse(JSON.parse(payload ?? '')).n;
}

test('of compose the migration and a relay run, with the variables, the command and the limits of the file', {
  timeout: 3 * minutes,
}, async ({ onTestFinished }) => {
  const roles = await databaseWithRoles(onTestFinished);
  const { migrate: migration, relay } = composeRelay();
  const address = `test-${randomUUID()}`;
  const values: Readonly<Record<string, string>> = servers(roles.urlOf('owner'));
  expect(Object.keys(migration.environment).toSorted()).toEqual(Object.keys(values).toSorted());
  expect(relay.environment).toEqual(migration.environment);
  const env = variables({ ...values, ORDERS_ADDRESS: address });

  const migrating = podman.start([...migration.options, ...env], shop, migration.command);
  expect([await migrating.exited, migrating.output()]).toEqual([0, expect.stringContaining(address)]);
  await roles.apply();
  // The ports of the image are those of this machine, too, so the relay has its command with others.
  const [health, metrics] = [await freePort(), await freePort()];
  const ports: Readonly<Record<string, number>> = { 8080: health, 9464: metrics };
  const command = podsOf('relay.yaml').args((port) => ports[port] ?? 0);
  expect([relay.command, relay.expose]).toEqual([[], Object.keys(ports)]);
  const running = podman.start([...relay.options, ...env], shop, command);
  await byPg(roles.as('sender'))((tx) => send(tx, orders, { n: 1 }));
  await expect
    .poll(async () => (await readTopic(kafka, address)).map(({ payload }) => numberOf(payload)), {
      timeout: 2 * minutes,
    })
    .toEqual([1]);
  await expect.poll(() => statusOf(health, '/ready')).toBe(200);
  expect(await statusOf(metrics, '/metrics')).toBe(200);
  expect(await running.stop(relay.graceSeconds)).toBe(0);
});

test('under systemd the unit runs a relay of the application, which has no right, and ends it in time', {
  timeout: 3 * minutes,
}, async ({ onTestFinished }) => {
  const roles = await databaseWithRoles(onTestFinished);
  await migrate(roles.as('owner'), await readMigrations());
  await roles.apply();
  const [health, metrics] = [await freePort(), await freePort()];
  const unit = 'temporal-outbox-relay.service';
  const text = readFileSync(podman.sandbox.at('deploy', unit), 'utf8');
  const systemd = await startSystemd(podman, {
    unit,
    text: text.replace(':8080', `:${health}`).replace(':9464', `:${metrics}`),
    environment: servers(roles.urlOf('relay')),
    image: shop,
  });
  await expect.poll(() => statusOf(health, '/ready'), { timeout: 2 * minutes }).toBe(200);
  expect(await statusOf(metrics, '/metrics')).toBe(200);
  const { MainPID, NRestarts } = await propertiesOf(systemd, unit, 'MainPID', 'NRestarts');
  expect(NRestarts).toBe('0');
  const facts = printedBy(await systemd.run('cat', `/proc/${MainPID}/status`));
  expect(facts).toMatch(/^Uid:\s+(?<uid>[1-9]\d*)\s+\k<uid>\s+\k<uid>\s+\k<uid>$/m);
  for (const fact of [/^CapEff:\s+0+$/m, /^CapBnd:\s+0+$/m, /^NoNewPrivs:\s+1$/m, /^Seccomp:\s+2$/m])
    expect(facts).toMatch(fact);

  const from = performance.now();
  await systemd.run('systemctl', 'stop', unit);
  expect(performance.now() - from).toBeLessThan(30_000);
  expect(await propertiesOf(systemd, unit, 'Result', 'ExecMainStatus', 'ActiveState')).toEqual({
    Result: 'success',
    ExecMainStatus: '0',
    ActiveState: 'inactive',
  });
});
