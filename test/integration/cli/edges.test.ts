import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/cli/load-config.ts';
import { explain } from '../../../src/cli/output.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { written } from '../../support/fixtures/written.ts';

const main = fileURLToPath(new URL('../../../dist/bin/temporal-outbox.js', import.meta.url));

test('a reader that closes the pipe early is not an error', {
  tags: ['closed-output-is-no-failure'],
}, async () => {
  const child = spawn(process.execPath, [main, 'migrate', '--print'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'exit')]);

  expect({ code: child.exitCode, stderr }).toEqual({ code: 0, stderr: '' });
});

test('the system user is recorded when no variable names the user', async () => {
  const fixture = await ownLane();
  await failAll(fixture, ['A']);

  const end = await runCli(['retry', fixture.idOf('A'), '--yes', '--reason', 'again'], {
    DATABASE_URL: fixture.url,
    USER: '',
    LOGNAME: '',
  });

  expect(end).toMatchObject({ code: 0, stderr: '' });
  expect(await auditOf(fixture)).toMatchObject([{ actor: expect.stringMatching(/^\S.*$/) }]);
});

test('a configuration that is missing or cannot be loaded is one line with the right advice', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-edges-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(`${folder}/broken.ts`, `import './nowhere.ts';\nexport default {};\n`);
  const said = (file: string) =>
    written(async (output) => explain(await loadConfig(file).catch((error: unknown) => error), output));

  expect(await said(`${folder}/outbox.config.ts`)).toEqual({
    code: 2,
    stdout: '',
    stderr: `OUTBOX_CONFIG_FILE_MISSING: There is no configuration at ${folder}/outbox.config.ts.\n  Next: Run the command in the folder of outbox.config.ts, or pass the file as --config.\n`,
  });
  const broken = await said(`${folder}/broken.ts`);
  expect(broken.code).toBe(1);
  expect(broken.stderr.split('\n')).toEqual([
    expect.stringMatching(/^OUTBOX_CONFIG_INVALID: .*broken\.ts cannot be loaded: .*nowhere/),
    '  Next: Correct the named settings of the configuration.',
    '',
  ]);
});
