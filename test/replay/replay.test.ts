import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  Worker,
  type WorkflowBundle,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { expect, test } from 'vitest';
import { bundleWorkflows } from '../../src/temporal/workflow-bundle.ts';
import { quietTemporal } from '../support/fixtures/stage.ts';
import { readHistory } from './read-history.ts';

const here = fileURLToPath(new URL('./', import.meta.url));
const folder = path.join(here, 'histories');
const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Replays every stored history; answers by name whether the workflows would still take the same steps. */
async function replay(workflowBundle: WorkflowBundleOption): Promise<Readonly<Record<string, string>>> {
  quietTemporal();
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json')).toSorted();
  const histories = await Promise.all(
    files.map(async (file) => ({
      workflowId: path.basename(file, '.json'),
      history: await readHistory(path.join(folder, file)),
    })),
  );
  const verdicts: Record<string, string> = {};
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
    verdicts[workflowId] = error === undefined ? 'same' : error.name;
  }
  return verdicts;
}

function bundled(file: string): Promise<WorkflowBundle> {
  return bundleWorkflowCode({ workflowsPath: path.join(here, file), logger: silent });
}

const current = bundled('../../workflows/index.ts');

/** A workflow sleeps for up to 400 days, so each of its ways is replayed for as long as its type exists. */
const ways = [
  'archive',
  'bulk-done',
  'key-drained',
  'key-blocked',
  'key-retried',
  'lane-emptied',
  'message-canceled',
  'message-canceled-in-ui',
  'message-canceled-too-late',
  'message-continued',
  'message-published',
  'message-rescheduled',
  'message-retried',
  'reconcile',
  'scheduled-written',
];

test('F24: workflows recorded earlier continue with the current workflows', async () => {
  expect(await replay(await current)).toEqual(Object.fromEntries(ways.map((way) => [way, 'same'])));
});

/** The modules of a bundle, from the source map that it carries. The bundler itself refuses modules of Node. */
function modulesOf(code: string): readonly string[] {
  const map = /sourceMappingURL=data:application\/json;[^,]*base64,([\w+/=]+)/.exec(code)?.[1];
  if (map === undefined) throw new Error('The bundle carries no source map.');
  return (JSON.parse(Buffer.from(map, 'base64').toString()) as { readonly sources: string[] }).sources;
}

test('the bundle of the workflows contains workflows and nothing else of this project', async () => {
  const root = path.join(here, '../..');
  const modules = modulesOf((await current).code);

  const own = modules
    .filter((name) => path.isAbsolute(name) && !name.includes(`${path.sep}node_modules${path.sep}`))
    .map((name) => path.relative(root, name));
  expect(own).toEqual(expect.arrayContaining([path.join('workflows', 'deliver-lane.ts')]));
  expect(own.filter((name) => !name.startsWith(`workflows${path.sep}`))).toEqual([]);
});

test('workflows recorded earlier also continue with the built bundle', async () => {
  const folderOfBuild = path.join(here, '../../dist/workflows');
  const made = (await readdir(folderOfBuild)).find((file) => /^bundle-[\d.]+\.js$/.test(file));
  const codePath = path.join(folderOfBuild, made ?? 'none');

  expect(await bundleWorkflows()).toEqual({ codePath });
  expect(await replay({ codePath })).toEqual(Object.fromEntries(ways.map((way) => [way, 'same'])));
});

test('a workflow that takes other steps under its old name is found by the replay', async () => {
  expect(await replay(await bundled('changed-workflows.ts'))).toEqual(
    Object.fromEntries(ways.map((way) => [way, 'DeterminismViolationError'])),
  );
});
