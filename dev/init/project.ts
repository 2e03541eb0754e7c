import path from 'node:path';
import { OutboxError } from '../../src/core/errors.ts';
import type { ReadFolder } from './folder.ts';
import { type PackageManager, packageManagerOf } from './lock-files.ts';
import { type PrismaSetup, readPrisma } from './prisma-setup.ts';

/** How the project makes transactions: what its consumer will be given. */
export type ProjectDatabase =
  | {
      readonly kind: 'prisma';
      /** As in {@link PrismaSetup.client}. */
      readonly client: string | undefined;
      readonly generates: PrismaSetup['generates'];
      /** Major version of Prisma; `undefined`: package.json does not say it. */
      readonly major: string | undefined;
      /** Whether the client connects by `@prisma/adapter-pg`. Before Prisma 7 it may have an engine of its own. */
      readonly adapter: boolean;
    }
  | { readonly kind: 'pg' };

/** What is known about the project into which files are written. */
export interface Project {
  /** Its name, fit for the name of a consumer group. */
  readonly name: string;
  readonly packageManager: PackageManager;
  readonly language: 'typescript' | 'javascript';
  readonly modules: 'esm' | 'commonjs';
  /** Ending of relative imports, as the compiler and Node want it. */
  readonly importEnding: '.js' | '.ts' | '';
  /** Folder of the sources: `src`, or empty if the project keeps them beside package.json. */
  readonly sources: '' | 'src';
  readonly database: ProjectDatabase;
  /** Name of the variable with the address of the database. */
  readonly urlVariable: string;
  /** Whether it keeps variables in a file `.env`. */
  readonly dotenv: boolean;
  /** Names of the packages that package.json names, for production or development. */
  readonly packages: ReadonlySet<string>;
  readonly scripts: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly packageManager?: unknown;
  readonly prisma?: { readonly schema?: unknown };
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Looks at a project. Nothing is run, and nothing is changed.
 *
 * @param fallbackName its name, if package.json has none
 * @throws OutboxError `OUTBOX_PROJECT_UNFIT` without a package.json, and if it has neither Prisma for PostgreSQL nor `pg`
 */
export function projectIn(folder: ReadFolder, fallbackName: string): Project {
  const manifest = manifestIn(folder);
  const versions = { ...manifest.peerDependencies, ...manifest.devDependencies, ...manifest.dependencies };
  const packages = new Set(Object.keys(versions));
  const here = new Set(folder.names('.'));
  const named = manifest.prisma?.schema;
  const prisma =
    packages.has('@prisma/client') || packages.has('prisma')
      ? readPrisma(folder, typeof named === 'string' ? path.posix.normalize(named) : undefined)
      : undefined;
  const typescript = here.has('tsconfig.json') || packages.has('typescript');
  const modules = manifest.type === 'module' ? 'esm' : 'commonjs';
  const name = typeof manifest.name === 'string' ? manifest.name : fallbackName;
  return {
    name: name.replace(/^@[^/]*\//, '').replaceAll(/[^\w.-]+/g, '-') || 'app',
    packageManager: packageManagerOf(folder, manifest.packageManager),
    language: typescript ? 'typescript' : 'javascript',
    modules,
    importEnding: importEndingOf(typescript, modules, folder.text('tsconfig.json') ?? ''),
    sources: sourcesOf(here, folder.text('tsconfig.json') ?? ''),
    database: databaseIn(prisma, versions),
    urlVariable: prisma?.urlVariable ?? 'DATABASE_URL',
    dotenv: here.has('.env') || packages.has('dotenv'),
    packages,
    scripts: manifest.scripts ?? {},
  };
}

function manifestIn(folder: ReadFolder): Manifest {
  const text = folder.text('package.json');
  if (text === undefined) throw unfit('This folder has no package.json.');
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch (cause) {
    throw unfit('package.json is not JSON.', cause);
  }
  throw unfit('package.json is not an object.');
}

function databaseIn(
  prisma: PrismaSetup | undefined,
  versions: Readonly<Record<string, string>>,
): ProjectDatabase {
  const provider = prisma?.provider ?? 'postgresql';
  if (prisma !== undefined && !isPrisma8(versions) && ['postgresql', 'postgres'].includes(provider)) {
    const major = /\d+/.exec(versions['@prisma/client'] ?? versions['prisma'] ?? '')?.[0];
    const { client, generates } = prisma;
    const adapter = '@prisma/adapter-pg' in versions || major !== '6' || generates === 'typescript';
    return { kind: 'prisma', client, generates, major, adapter };
  }
  if ('pg' in versions) return { kind: 'pg' };
  if (isPrisma8(versions))
    throw unfit(
      'init writes no files for Prisma 8: its client is wrapped as prisma8(db), see docs/prisma.md.',
    );
  throw unfit(
    prisma === undefined
      ? 'package.json names neither @prisma/client nor pg.'
      : `The outbox needs PostgreSQL, and Prisma's schema has ${provider}.`,
  );
}

/** `src`, as in the guides, also in a project that has no sources yet; not where they are beside package.json. */
function sourcesOf(here: ReadonlySet<string>, tsconfig: string): Project['sources'] {
  if (here.has('src') || /"rootDir"\s*:\s*"(?:\.\/)?src\/?"/.test(tsconfig)) return 'src';
  return [...here].some(isModule) ? '' : 'src';
}

/** Not a setting of a tool, nor a file of types alone. */
function isModule(name: string): boolean {
  return /^[^.].*\.[cm]?[jt]sx?$/.test(name) && !/\.(?:config|d)\.[cm]?[jt]s$/.test(name);
}

/** Prisma 8 has no `PrismaClient`, and its schema is another one. */
function isPrisma8(versions: Readonly<Record<string, string>>): boolean {
  if ('@prisma/client' in versions) return false;
  return '@prisma/orm-postgres' in versions || Number(/\d+/.exec(versions['prisma'] ?? '')?.[0] ?? 0) >= 8;
}

/** Node wants an ending in ES modules; compilers accept `.ts` only where they are told to. */
function importEndingOf(
  typescript: boolean,
  modules: Project['modules'],
  tsconfig: string,
): Project['importEnding'] {
  if (!typescript) return '.js';
  if (/"(?:allowImportingTsExtensions|rewriteRelativeImportExtensions)"\s*:\s*true/.test(tsconfig))
    return '.ts';
  return modules === 'esm' ? '.js' : '';
}

function unfit(message: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_PROJECT_UNFIT', message, { cause });
}
