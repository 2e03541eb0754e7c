import { fileURLToPath } from 'node:url';

/**
 * The path of a program of this folder in the build, to run as a process: started from the sources it would need some
 * more seconds of CPU. The build happens before the servers of a test run start.
 */
export function builtProgram(name: string): string {
  return fileURLToPath(new URL(`../../../dist/test/support/processes/${name}.js`, import.meta.url));
}
