import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { emptyProject, installsWithinMs, type ScratchProject } from './scratch-project.ts';

const { peerDependencies } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { readonly peerDependencies: Readonly<Record<string, string>> };

let project: ScratchProject;
beforeAll(async () => {
  project = await emptyProject();
}, installsWithinMs);
afterAll(() => project.remove());

/** The peers that it cannot be installed beside. Together first, which is quick: it proves each of them. */
async function refused(...peers: readonly string[]): Promise<readonly string[]> {
  const newest = peers.map((peer) => `${peer}@latest`);
  const failed = await project.npm('install', '--dry-run', inject('tarball'), ...newest).catch(String);
  if (failed === undefined) return [];
  if (peers.length === 1) return [failed];
  // The newest of two peers may not go together, which is not ours to say.
  const each: string[] = [];
  for (const peer of peers) each.push(...(await refused(peer)));
  return each;
}

test(
  'a service that only sends installs the package beside the newest release of each optional peer',
  async () => {
    expect(await refused(...Object.keys(peerDependencies))).toEqual([]);
  },
  installsWithinMs,
);
