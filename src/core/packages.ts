import { createRequire } from 'node:module';
import path from 'node:path';
import { OutboxError } from './errors.ts';
import { manifestVersion } from './manifest-version.ts';
import { installArgument, misfitOf, type OptionalPackage, partPackages } from './package-lines.ts';

/** A part of the library that needs packages of its own. */
export type Part = keyof typeof partPackages;

const examined = new Set<Part>();

/**
 * Examines the packages of a part before they are loaded.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`, or `OUTBOX_PACKAGE_UNFIT` for a version that is not supported, with the command
 * that installs what the part lacks
 */
export function requirePackages(part: Part): void {
  if (examined.has(part)) return;
  const { for: who, packages } = partPackages[part];
  const missing = packages.filter((name) => resolveOptional(name) === undefined);
  if (missing.length > 0)
    throw new OutboxError(
      'OUTBOX_PACKAGE_MISSING',
      `${who} needs packages that are not installed: ${installing(missing)}`,
      { details: { packages: missing } },
    );
  const unfit = packages.flatMap((name) => {
    const version = versionOf(name);
    // oxlint-disable-next-line eslint/no-restricted-globals -- of the environment nothing is read
    const why = version === undefined ? undefined : misfitOf(name, version, process.versions.node);
    return why === undefined ? [] : [{ name, why }];
  });
  if (unfit.length > 0)
    throw new OutboxError(
      'OUTBOX_PACKAGE_UNFIT',
      `${who} cannot use what is installed: ${unfit.map(({ why }) => why).join('; ')}: ${installing(unfit.map(({ name }) => name))}`,
      { details: { packages: unfit.map(({ name }) => name) } },
    );
  examined.add(part);
}

/**
 * Loads an optional package, without a `require` that a bundler would follow: most programs have few of them installed.
 *
 * @returns what the package exports: the caller knows its type
 */
export function loadOptional(name: string): unknown {
  return createRequire(__filename)(name);
}

/**
 * What a part of the library uses of its packages, loaded on first use and then kept.
 *
 * @returns throws what {@link requirePackages} throws
 */
export function loadedOnce<Loaded>(part: Part, load: () => Loaded): () => Loaded {
  let kept: { readonly loaded: Loaded } | undefined;
  return () => {
    if (kept === undefined) {
      requirePackages(part);
      kept = { loaded: load() };
    }
    return kept.loaded;
  };
}

/** {@link loadedOnce} for one package. `Exports` is the type of what it exports. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the type, by the name of the package
export function optionalPackage<Exports>(part: Part, name: OptionalPackage): () => Exports {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
  return loadedOnce(part, () => loadOptional(name) as Exports);
}

function installing(names: readonly OptionalPackage[]): string {
  return `npm install ${names.map(installArgument).join(' ')}`;
}

/** The file that is loaded; `undefined` if the package is not installed. Any other error is thrown when it is loaded. */
export function resolveOptional(name: string): string | undefined {
  try {
    return createRequire(__filename).resolve(name);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    return '';
  }
}

/** What its manifest says, which it may not export; `undefined` if there is none, as in a bundle. */
function versionOf(name: string): string | undefined {
  let folder = path.dirname(resolveOptional(name) ?? '');
  for (; path.dirname(folder) !== folder; folder = path.dirname(folder)) {
    const manifest = manifestIn(folder);
    if (typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === name)
      return manifestVersion(manifest);
  }
  return undefined;
}

function manifestIn(folder: string): unknown {
  try {
    return loadOptional(path.join(folder, 'package.json'));
  } catch {
    return undefined;
  }
}
