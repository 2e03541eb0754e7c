/**
 * Bundles the built workflows, so that relays and consumers need not do so at start. The file name contains the version
 * of the worker, because no other version may run the bundle.
 */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

const mapped = /^(?<code>.*\/\/# sourceMappingURL=data:application\/json;[^,]*base64,)(?<map>[^\n]*)\s*$/s;

/**
 * Strips from the source map the folder of the build machine, and the texts of the sources, a megabyte: stack traces need
 * neither.
 */
function portable(bundle) {
  const parts = mapped.exec(bundle)?.groups;
  if (parts === undefined) throw new Error('The bundle of the workflows has no source map at its end.');
  const { sourcesContent: _texts, ...map } = JSON.parse(Buffer.from(parts.map, 'base64').toString());
  return parts.code + Buffer.from(JSON.stringify(map).replaceAll(`${resolve()}/`, '')).toString('base64');
}

const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json');
const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const workflowsPath = resolve('dist/workflows/index.js');
const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
writeFileSync(`dist/workflows/bundle-${version}.js`, portable(code));
