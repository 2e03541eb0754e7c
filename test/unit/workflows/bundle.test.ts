import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { expect, test } from 'vitest';

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The modules of a bundle, from the source map that it carries. The bundler itself refuses modules of Node. */
async function modulesOf(workflowsPath: string): Promise<readonly string[]> {
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  const map = /sourceMappingURL=data:application\/json;[^,]*base64,([\w+/=]+)/.exec(code)?.[1];
  if (map === undefined) throw new Error('The bundle carries no source map.');
  return (JSON.parse(Buffer.from(map, 'base64').toString()) as { readonly sources: string[] }).sources;
}

test('the bundle of the workflows contains workflows and nothing else of this project', async () => {
  const modules = await modulesOf(path.join(root, 'workflows', 'index.ts'));

  const own = modules
    .filter((name) => path.isAbsolute(name) && !name.includes(`${path.sep}node_modules${path.sep}`))
    .map((name) => path.relative(root, name));
  expect(own).toEqual(expect.arrayContaining([path.join('workflows', 'deliver-lane.ts')]));
  expect(own.filter((name) => !name.startsWith(`workflows${path.sep}`))).toEqual([]);
}, 120_000);
