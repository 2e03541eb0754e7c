import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

test('a result file says how many errors happened outside of tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-outbox-result-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import { ResultFile } from ${JSON.stringify(join(root, 'test/support/result-file.ts'))};
     export default { test: { globals: true, reporters: [new ResultFile({ outputFile: 'results.json' })] } };`,
  );
  writeFileSync(
    join(folder, 'a.test.ts'),
    `test('green, with an error of nobody', async () => {
       Promise.reject(new Error('of nobody'));
       await new Promise((resolve) => setTimeout(resolve, 1));
     });`,
  );

  const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: folder,
  });

  expect(status).toBe(1);
  expect(JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'))).toMatchObject({
    errorsOutsideTests: 1,
    success: true,
    testResults: [{ status: 'passed' }],
  });
});
