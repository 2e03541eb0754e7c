import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { until } from '../support/fixtures/until.ts';
import type { Kind } from './quick-start-page.ts';

const installed = path.resolve(import.meta.dirname, '../../examples/node_modules');

/** The content of an application before its owner opens the page, apart from the table that the page shows. */
const prismaHead = `generator client {
  provider = "prisma-client"
  output   = "../src/generated/prisma"
}
datasource db {
  provider = "postgresql"
}
`;
const prismaConfig = `import { defineConfig, env } from 'prisma/config';
export default defineConfig({ schema: 'prisma/schema.prisma', datasource: { url: env('DATABASE_URL') } });
`;
const nestFiles = {
  'src/prisma.service.ts': `import { Injectable } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/prisma/client.js';
@Injectable()
export class PrismaService extends PrismaClient {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] }) });
  }
}
`,
  'src/main.ts': `import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
const app = await NestFactory.create(AppModule, new FastifyAdapter());
await app.listen(process.env['PORT'] ?? 3000);
`,
};
const packages: Readonly<Record<Kind, readonly string[]>> = {
  'With Prisma': ['@prisma/client', '@prisma/adapter-pg', 'prisma', 'typescript', '@types/node'],
  'In NestJS': [
    ...['@nestjs/common', '@nestjs/core', '@nestjs/platform-fastify', 'reflect-metadata', 'rxjs'],
    ...['@prisma/client', '@prisma/adapter-pg', 'prisma', 'typescript', '@types/node'],
  ],
};
const tsconfig = {
  compilerOptions: {
    ...{ target: 'es2023', module: 'nodenext', strict: true, skipLibCheck: true, types: ['node'] },
    ...{ outDir: 'dist', rootDir: 'src', experimentalDecorators: true, emitDecoratorMetadata: true },
  },
  include: ['src'],
};

/** A command that was started. */
interface Running {
  readonly said: () => string;
  readonly ended: Promise<number | null>;
  readonly child: ChildProcess;
}

/** An application as its owner has it, in a folder outside of this repository. */
export class QuickStartApp {
  readonly #folder: string;
  readonly #running: Running[] = [];
  #env: Readonly<Record<string, string>> = {};

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(kind: Kind): Promise<QuickStartApp> {
    const app = new QuickStartApp(await mkdtemp(path.join(tmpdir(), 'outbox-quick-start-')));
    // What is installed there is what the page's commands would install; package.json says what the owner has asked for.
    await symlink(installed, path.join(app.#folder, 'node_modules'));
    const name = kind === 'In NestJS' ? 'nest-accounts' : 'prisma-accounts';
    const scripts = kind === 'In NestJS' ? { start: 'tsc && node dist/main.js' } : {};
    await app.write(
      'package.json',
      JSON.stringify({ name, private: true, type: 'module', scripts }, null, 2),
    );
    await app.install(packages[kind]);
    await app.write('tsconfig.json', JSON.stringify(tsconfig));
    await app.write('prisma.config.ts', prismaConfig);
    if (kind === 'In NestJS') for (const file of Object.entries(nestFiles)) await app.write(...file);
    return app;
  }

  /** Variables of every command that is started from now on. */
  set env(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  async write(file: string, text: string): Promise<void> {
    const target = path.join(this.#folder, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, file.endsWith('.prisma') ? prismaHead + text : text);
  }

  /** Does to package.json what `npm install` does. The packages must be among the installed ones. */
  async install(names: readonly string[]): Promise<void> {
    const file = path.join(this.#folder, 'package.json');
    const manifest: { dependencies?: Record<string, string> } = JSON.parse(await readFile(file, 'utf8'));
    const added: Record<string, string> = {};
    for (const wanted of names) {
      const [, name = '', major] = /^(.+?)(?:@(\d+))?$/.exec(wanted) ?? [];
      const own = path.join(installed, name, 'package.json');
      if (!existsSync(own)) throw new Error(`The examples do not install ${name}.`);
      const { version } = JSON.parse(await readFile(own, 'utf8')) as { version: string };
      if (major !== undefined && !version.startsWith(`${major}.`))
        throw new Error(`The examples install ${name} ${version}, and the page ${wanted}.`);
      added[name] = version;
    }
    const dependencies = { ...manifest.dependencies, ...added };
    await writeFile(file, JSON.stringify({ ...manifest, dependencies }, null, 2));
  }

  /** Starts a command in a shell; `typed` is its input. */
  start(command: string, typed = ''): Running {
    const { NODE_OPTIONS: _options, VITEST: _vitest, ...own } = process.env;
    const child = spawn('sh', ['-c', command], {
      cwd: this.#folder,
      detached: true,
      env: {
        ...own,
        ...this.#env,
        NODE_ENV: 'development',
        PRISMA_SCHEMA_ENGINE_BINARY: inject('schemaEngine'),
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
      },
    });
    child.stdin.end(typed);
    let said = '';
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => (said += data.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const running = { said: () => said, ended, child };
    this.#running.push(running);
    return running;
  }

  /** What all commands have said. */
  get said(): string {
    return this.#running.map(({ said }) => said()).join('\n');
  }

  /** Ends what still runs, the last first, and removes the folder. */
  async remove(): Promise<void> {
    for (const { child } of this.#running.toReversed()) {
      const over = () => child.exitCode !== null || child.signalCode !== null;
      if (over() || child.pid === undefined) continue;
      process.kill(-child.pid, 'SIGTERM');
      await until(over, 15_000).catch(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'));
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
