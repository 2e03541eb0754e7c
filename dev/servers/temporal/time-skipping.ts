import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalOptions } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { javaProgram } from '../providers/java-program.ts';
import { mavenPackage } from '../providers/maven-jars.ts';
import { pinned } from '../providers/pinned-versions.ts';

/**
 * The path of a program that runs Temporal's time-skipping test server, installed first if it is missing.
 *
 * Give it to `TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` without Java 17 or later, or without Maven where it is not
 * installed yet.
 */
export async function timeSkippingServer(options: LocalOptions): Promise<string> {
  const context = await openContext(options);
  const java = await javaProgram(context);
  const folder =
    'missing' in java
      ? java
      : await mavenPackage(context, {
          name: `temporal-test-server-${pinned.testServer}`,
          label: 'Time-skipping Temporal',
          artifacts: [`io.temporal:temporal-test-server:${pinned.testServer}`],
          finish: (partial) => writeFile(join(partial, programName), program, { mode: 0o755 }),
        });
  if ('found' in folder) return join(folder.found, programName);
  throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The time-skipping Temporal server: ${folder.missing}`, {
    details: { server: 'temporal-test-server', reasons: [folder.missing] },
  });
}

const programName = 'temporal-test-server';

// Locates its jars relative to itself, because the folder is renamed after the installation.
const program = `#!/bin/sh
java="$JAVA_HOME/bin/java"
[ -x "$java" ] || java=java
exec "$java" -cp "$(dirname "$0")/jars/*" io.temporal.testserver.TestServer "$@"
`;
