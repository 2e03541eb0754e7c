import { join } from 'node:path';
import type { LocalContext } from '../../dev/servers/local-context.ts';
import { npmPackage } from '../../dev/servers/providers/npm-package.ts';

/** The folders of packages of exact versions, by their names, fetched together into the cache of the local servers where they are missing. */
export async function packageFolders(
  context: LocalContext,
  packages: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const specs = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const folder = await npmPackage(context, {
    name: specs.join('+').replaceAll('/', '-'),
    label: specs[0] ?? '',
    spec: specs.join(' '),
  });
  if (folder === undefined) throw new Error('npm is not on PATH.');
  return Object.fromEntries(Object.keys(packages).map((name) => [name, join(folder, 'node_modules', name)]));
}
