import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Servers } from '../contenders/arena.ts';
import { root } from '../contenders/contenders.ts';
import { newerNode } from '../contenders/prepare.ts';

/** What figures depend on. */
export interface Surroundings {
  readonly measuredAt: string;
  readonly machine: {
    readonly processors: number;
    readonly model: string;
    readonly memoryGb: number;
    readonly system: string;
  };
  readonly versions: Readonly<Record<string, string>>;
}

export async function surroundingsOf({ database }: Servers): Promise<Surroundings> {
  const [postgres] = await database.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  const [processor] = cpus();
  const peers = manifest(join(root, 'bench', 'peers', 'package.json')).dependencies ?? {};
  return {
    measuredAt: new Date().toISOString(),
    machine: {
      processors: cpus().length,
      model: processor?.model ?? 'unknown',
      memoryGb: Math.round(totalmem() / 1_024 ** 3),
      system: `${process.platform} ${release()} ${arch()}`,
    },
    versions: {
      'temporal-outbox': `${manifest(join(root, 'package.json')).version} (${commit()})`,
      node: newerNode,
      'older node': process.versions.node,
      postgres: postgres?.version ?? 'unknown',
      ...peers,
    },
  };
}

function manifest(file: string): { version: string; dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(file, 'utf8')) as { version: string; dependencies?: Record<string, string> };
}

function commit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' and changes'}`;
  } catch {
    return 'no repository';
  }
}
