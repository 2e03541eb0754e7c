import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { withLockFile } from '../process/lock-file.ts';
import { progressStep } from '../process/progress-step.ts';
import { runCommand } from '../process/run-command.ts';
import { makeOpenFolder } from './cache-folder.ts';
import { findOnPath } from './find-program.ts';
import { installOnce } from './install-once.ts';
import { pinned } from './pinned-versions.ts';
import type { Candidate } from './source-order.ts';

/** An artifact of Maven Central: `group:artifact:version`. */
export type Coordinates = `${string}:${string}:${string}`;

/** A package to install from Maven Central. */
export interface MavenPackage {
  readonly name: string;
  /** Display name, such as `Kafka`. */
  readonly label: string;
  readonly artifacts: readonly Coordinates[];
  /** Path of the only file needed from the jars; it is unpacked, and the jars are not kept. */
  readonly only?: string;
  /** Adds files next to the folder `jars` before the package counts as installed. */
  readonly finish?: (folder: string) => Promise<void>;
}

/**
 * The folder of a package, fetched by Maven if it is missing. Its folder `jars` holds the jars with their dependencies,
 * or the one file wanted from them.
 */
export async function mavenPackage(context: LocalContext, wanted: MavenPackage): Promise<Candidate<string>> {
  const installed = join(context.cache, 'installed', wanted.name);
  if (existsSync(installed)) return { found: installed };
  const mvn = await findOnPath(context.env, 'mvn');
  if (mvn === undefined)
    return { missing: 'mvn is not on PATH; install Maven (and Java 17 or later), or Docker.' };
  const folder = await installOnce(context, wanted.name, async (partial) => {
    const pom = join(partial, 'pom.xml');
    await writeFile(pom, pomOf(wanted));
    await fetchJars(context, mvn, wanted, partial);
    await rm(pom);
    await wanted.finish?.(partial);
  });
  return { found: folder };
}

async function fetchJars(
  context: LocalContext,
  mvn: string,
  { label, only }: MavenPackage,
  folder: string,
): Promise<void> {
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${pinned.mavenDependencyPlugin}`;
  const jars = join(folder, 'jars');
  const goal =
    only === undefined
      ? [`${plugin}:copy-dependencies`]
      : [`${plugin}:unpack-dependencies`, `-Dmdep.unpack.includes=${only}`];
  // Two Maven processes must not write to one local repository at once.
  const lock = { tell: context.tell, label: 'Maven', signal: context.signal };
  await makeOpenFolder(jars);
  await withLockFile(join(context.cache, 'maven.lock'), lock, () =>
    progressStep(context.tell, `${label}: fetching jars with Maven`, (onLine) =>
      runCommand(mvn, ['--batch-mode', '--quiet', ...goal, `-DoutputDirectory=${jars}`], {
        env: context.env,
        cwd: folder,
        signal: context.signal,
        onLine,
      }),
    ),
  );
}

function pomOf({ name, artifacts }: MavenPackage): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, id, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${id}</artifactId><version>${version}</version></dependency>`;
  });
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0">',
    '<modelVersion>4.0.0</modelVersion>',
    `<groupId>temporal-outbox.local</groupId><artifactId>${name}</artifactId><version>1</version>`,
    '<packaging>pom</packaging>',
    `<dependencies>${dependencies.join('\n')}</dependencies>`,
    '</project>\n',
  ].join('\n');
}
