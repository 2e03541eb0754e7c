import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundleWorkflowCode, type WorkflowBundleOption } from '@temporalio/worker';
import { manifestVersion } from '../core/manifest-version.ts';

let bundle: Promise<WorkflowBundleOption> | undefined;

/**
 * All workflows as a worker loads them. The build has bundled them. If that was for another version of the worker than the
 * installed one, or there is no build, they are bundled here, once per process: it takes a second or two of processor time.
 */
export function bundleWorkflows(): Promise<WorkflowBundleOption> {
  bundle ??= made().catch((error: unknown) => {
    bundle = undefined;
    throw error;
  });
  return bundle;
}

async function made(): Promise<WorkflowBundleOption> {
  const version = manifestVersion(createRequire(__filename)('@temporalio/worker/package.json'));
  const name = `bundle-${version}.js`;
  // Next to the built workflows, even if this file runs from the sources.
  const codePath = ['../../workflows/', '../../dist/workflows/']
    .map((folder) => pathOf(folder + name))
    .find(existsSync);
  if (codePath !== undefined) return { codePath };
  const built = pathOf('../../workflows/index.js');
  const workflowsPath = existsSync(built) ? built : pathOf('../../workflows/index.ts');
  return bundleWorkflowCode({ workflowsPath, logger: quiet });
}

function pathOf(relative: string): string {
  return path.join(__dirname, relative);
}

const quiet = {
  log: () => undefined,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
