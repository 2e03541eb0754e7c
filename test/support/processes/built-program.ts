import { fileURLToPath } from 'node:url';

/**
 * The path of a program of this folder as it is built, for a process of its own: from the sources its start would take
 * the processor for some seconds more. The servers of a test run are started behind a build.
 */
export function builtProgram(name: string): string {
  return fileURLToPath(new URL(`../../../dist/test/support/processes/${name}.js`, import.meta.url));
}
