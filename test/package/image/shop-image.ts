import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { inject } from 'vitest';
import type { Podman } from './podman.ts';
import { printedBy } from './sandbox.ts';
import { standIns } from './stand-ins.ts';

/** The image of the application. */
export const shop = 'localhost/shop-outbox:1';

const root = path.resolve(import.meta.dirname, '../../..');
const { devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};

const dependencies = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-prometheus',
  '@opentelemetry/sdk-metrics',
  '@platformatic/kafka',
  '@temporalio/activity',
  '@temporalio/client',
  '@temporalio/worker',
  '@temporalio/workflow',
  'kafkajs',
  'zod',
];

/** A file of the application that must not reach an image: the folders and secrets of a developer. */
const leftBehind = { 'node_modules/junk/index.js': '', 'dist/old.js': '', '.env': 'PASSWORD=secret' };

/** Builds an application with the packed product by the Containerfile, as its first line says. */
export async function buildShop(podman: Podman): Promise<void> {
  const { sandbox } = podman;
  await mkdir(sandbox.at('srv'));
  cpSync(inject('tarball'), sandbox.at('srv/temporal-outbox.tgz'));
  cpSync(path.join(import.meta.dirname, '../projects/image'), sandbox.at('app'), { recursive: true });
  cpSync(path.join(root, 'deploy'), sandbox.at('deploy'), { recursive: true });
  for (const [file, text] of Object.entries(leftBehind)) {
    await mkdir(path.dirname(sandbox.at('app', file)), { recursive: true });
    writeFileSync(sandbox.at('app', file), text);
  }
  await writeManifest(podman);

  const stages = readFileSync(sandbox.at('deploy/Containerfile'), 'utf8').matchAll(/^FROM (?<image>\S+)/gm);
  const [builder = '', runtime = ''] = [...stages].map(({ groups }) => groups?.['image'] ?? '');
  await standIns(podman, builder, runtime);
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  // No image of a step in between: each of them is a copy of all packages.
  const quick = ['--layers=false', '--pull=never', '--isolation=chroot', '--network=host'];
  const given = [`--volume=${cache}:/root/.npm`, '--volume=/mnt/srv:/srv:ro'];
  await podman.call('build', ...quick, ...given, '-f', '/mnt/deploy/Containerfile', '-t', shop, '/mnt/app');
}

/** Versions are this repository's, also of packages of packages: the lock is that of this repository, less what it does not need. */
async function writeManifest({ sandbox }: Podman): Promise<void> {
  const versions = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, devDependencies[name]]));
  const manifest = {
    name: 'shop',
    private: true,
    type: 'module',
    scripts: { build: 'tsc -p .' },
    dependencies: { ...versions(dependencies), 'temporal-outbox': 'file:../srv/temporal-outbox.tgz' },
    devDependencies: versions(['@types/node', 'typescript']),
  };
  writeFileSync(sandbox.at('app/package.json'), JSON.stringify(manifest));
  cpSync(path.join(root, 'package-lock.json'), sandbox.at('app/package-lock.json'));
  const args = ['install', '--package-lock-only', '--prefer-offline', '--ignore-scripts', '--no-audit'];
  printedBy(await sandbox.run('npm', args, { within: '/mnt/app' }));
}
