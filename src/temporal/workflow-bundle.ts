import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

let bundle: Promise<WorkflowBundle> | undefined;

/**
 * Bundles all workflows, from the sources or from the build, by the installed version of the worker, which is the only one
 * that may run them. It takes the processor for a second or two, so a process does it once.
 */
export function bundleWorkflows(): Promise<WorkflowBundle> {
  bundle ??= bundleWorkflowCode({ workflowsPath: workflowsPath(), logger: quiet }).catch((error: unknown) => {
    bundle = undefined;
    throw error;
  });
  return bundle;
}

function workflowsPath(): string {
  const built = fileURLToPath(new URL('../../workflows/index.js', import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
}

const quiet = {
  log: () => undefined,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
