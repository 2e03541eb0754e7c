import { join } from 'node:path';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import { runCommand } from '../process/run-command.ts';
import { findOnPath, isExecutable } from './find-program.ts';
import { supported } from './pinned-versions.ts';
import type { Candidate } from './source-order.ts';
import { describeRange, inRange, parseVersion } from './version-range.ts';

/** The `java` of JAVA_HOME or PATH, if it is 17 or later. */
export async function javaProgram(context: LocalContext): Promise<Candidate<string>> {
  const wanted = `Java ${describeRange(supported.java)} is needed; install one, or Docker.`;
  const file = await javaFile(context);
  if (file === undefined) return { missing: `java is neither in JAVA_HOME nor on PATH. ${wanted}` };
  let output: string;
  try {
    output = await runCommand(file, ['-version'], { env: context.env, signal: context.signal });
  } catch (error) {
    // macOS has a `java` that only prints that Java is not installed.
    if (error instanceof OutboxError) return { missing: `${file} does not run. ${wanted}` };
    throw error;
  }
  const version = parseVersion(output);
  if (version !== undefined && inRange(version, supported.java)) return { found: file };
  return { missing: `${file} is ${output.split('\n')[0]}. ${wanted}` };
}

async function javaFile({ env }: LocalContext): Promise<string | undefined> {
  const inHome = env['JAVA_HOME'] ? join(env['JAVA_HOME'], 'bin', 'java') : undefined;
  return inHome !== undefined && (await isExecutable(inHome)) ? inHome : findOnPath(env, 'java');
}
