import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { installsWithinMs, printed, scratchProject } from './scratch-project.ts';

/** What an application may have for reasons of its own: the newest releases, and some that no part of the library can use. */
const neighborhoods = {
  newest: {
    '@hono/node-server': '2.1.9',
    '@opentelemetry/api': '1.10.0',
    '@opentelemetry/exporter-metrics-otlp-proto': '0.301.0',
    '@opentelemetry/exporter-prometheus': '0.301.0',
    '@opentelemetry/sdk-metrics': '3.1.1',
    '@platformatic/kafka': '2.12.1',
    '@prisma/client': '7.10.0',
    '@redis/client': '6.3.1',
    '@temporalio/activity': '1.24.0',
    '@temporalio/client': '1.24.0',
    '@temporalio/worker': '1.24.0',
    '@temporalio/workflow': '1.24.0',
    amqplib: '2.3.1',
    hono: '4.13.19',
    kafkajs: '2.2.4',
    nodemailer: '10.6.1',
    'openid-client': '6.9.0',
    'rocketmq-client-nodejs': '1.0.8',
    standardwebhooks: '1.1.1',
    undici: '8.13.1',
  },
  older: {
    '@prisma/client': '5.22.0',
    undici: '6.21.3',
    nodemailer: '6.9.16',
    amqplib: '0.10.5',
    '@redis/client': '1.6.0',
  },
} as const;

test.each(['newest', 'older'] as const)(
  'npm installs the package beside the %s releases of its optional packages',
  { timeout: installsWithinMs },
  async (which) => {
    const folder = await mkdtemp(path.join(tmpdir(), `temporal-outbox-${which}-`));
    try {
      const dependencies = { ...neighborhoods[which], 'temporal-outbox': `file:${inject('tarball')}` };
      await writeFile(
        path.join(folder, 'package.json'),
        JSON.stringify({ name: which, private: true, dependencies }),
      );
      // It resolves as an installation does, and downloads descriptions only.
      const args = ['install', '--package-lock-only', '--prefer-offline', '--no-audit', '--no-fund'];
      const { stderr } = await promisify(execFile)('npm', args, { cwd: folder });
      expect(stderr).not.toContain('ERESOLVE');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test('pnpm adds the package beside either of them, and finds no peer of a wrong version', {
  timeout: installsWithinMs,
}, async () => {
  const project = await scratchProject('pnpm');
  const pnpm = path.join(project.folder, 'node_modules/pnpm/bin/pnpm.mjs');
  // It would only warn of such a peer.
  const args = ['add', '--lockfile-only', '--config.strict-peer-dependencies=true', inject('tarball')];
  try {
    for (const [name, dependencies] of Object.entries(neighborhoods)) {
      await mkdir(path.join(project.folder, name));
      await writeFile(
        path.join(project.folder, name, 'package.json'),
        JSON.stringify({ name, private: true, dependencies }),
      );
      const said = printed(await project.node([pnpm, ...args], { within: name }));
      expect(said, name).toMatch(/\+ temporal-outbox file:.*\n\nDone in /);
    }
  } finally {
    await project.remove();
  }
});

test('the newest releases are of every optional package', async () => {
  const { peerDependencies } = (await import('../../package.json', { with: { type: 'json' } })).default;
  expect(Object.keys(neighborhoods.newest)).toEqual(Object.keys(peerDependencies));
});
