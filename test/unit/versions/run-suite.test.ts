import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runSuite, type SuiteResult } from '../../versions/run-suite.ts';

/** Runs a program of one line, as a suite of the Node that runs this test. */
async function runLine(line: string, version: string = process.versions.node): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-suite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = dirname(process.execPath);
  return runSuite(
    { name: 'line', args: ['-e', line] },
    { root: folder, bin, folder, env: process.env },
    version,
  );
}

test('a silent suite passes without a warning', async () => {
  expect(await runLine('console.error("no warning of Node")')).toMatchObject({ passed: true, warnings: '' });
});

test('a warning is reported with its location, also that of a process whose output is not read', async () => {
  const warning = `process.emitWarning("old", "DeprecationWarning", "DEP9999")`;
  const child = `require("child_process").spawnSync(process.execPath, ["-e", ${JSON.stringify(warning)}], { stdio: "ignore" })`;
  for (const line of [warning, child]) {
    const { passed, warnings } = await runLine(line);
    expect(passed).toBe(true);
    expect(warnings).toMatch(/\[DEP9999\] DeprecationWarning: old\n +at /);
  }
});

test('a failing suite is red', async () => {
  expect(await runLine('process.exit(3)')).toMatchObject({ passed: false });
});

test('a program of another version is refused', async () => {
  await expect(runLine('', '1.2.3')).rejects.toThrow('not 1.2.3');
});
