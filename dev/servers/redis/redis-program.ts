import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { runCommand } from '../process/run-command.ts';
import { findOnPath } from '../providers/find-program.ts';
import { mavenPackage } from '../providers/maven-jars.ts';
import { pinned, supported } from '../providers/pinned-versions.ts';
import { describeVersionMismatch } from '../providers/program-version.ts';
import type { Candidate } from '../providers/source-order.ts';
import { inRange, parseVersion } from '../providers/version-range.ts';

/** The program `redis-server` on PATH, if it is supported. */
export async function redisOnPath(context: LocalContext): Promise<Candidate<string>> {
  const file = await findOnPath(context.env, 'redis-server');
  if (file === undefined) return { missing: describeVersionMismatch('redis-server', supported.redis, []) };
  const output = await runCommand(file, ['--version'], { env: context.env });
  const version = redisVersion(output);
  if (version !== undefined && inRange(version, supported.redis)) return { found: file };
  return {
    missing: describeVersionMismatch('redis-server', supported.redis, [output.trim().slice(0, 80)]),
  };
}

/** Parses the output of `redis-server --version`: `Redis server v=7.0.15 sha=00000000:0 malloc=…`. */
export function redisVersion(output: string): ReturnType<typeof parseVersion> {
  const version = /\bv=(\d+(?:\.\d+)*)/.exec(output)?.[1];
  return version === undefined ? undefined : parseVersion(version);
}

/** The names of the programs inside the pinned jar. */
const programs: Readonly<Record<string, string>> = {
  'linux-x64': 'redis-server-6.2.6-v5-linux-amd64',
  'linux-arm64': 'redis-server-6.2.7-linux-arm64',
  'darwin-x64': 'redis-server-6.2.6-v5-darwin-amd64',
  'darwin-arm64': 'redis-server-6.2.6-v5-darwin-arm64',
};

/** The program for this platform, from the pinned jar of a Java test library. Some builds need OpenSSL 3. */
export async function redisFromRegistry(context: LocalContext): Promise<Candidate<string>> {
  const platform = `${process.platform}-${process.arch}`;
  const program = programs[platform];
  if (program === undefined)
    return { missing: `there is no package for ${platform}; install Redis or start Docker.` };
  const folder = await mavenPackage(context, {
    name: `redis-${pinned.redisPackage}-${platform}`,
    label: 'Redis',
    artifacts: [`com.github.codemonstur:embedded-redis:${pinned.redisPackage}`],
    only: program,
    finish: (partial) => chmod(join(partial, 'jars', program), 0o755),
  });
  return 'found' in folder ? { found: join(folder.found, 'jars', program) } : folder;
}
