import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testTimes } from '../../../tools/test-times.mjs';

test('what tests cost is said by gate, and of the ten slowest', ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-outbox-times-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const assertionResults = Array.from({ length: 12 }, (_, n) => ({
    fullName: `test ${n}`,
    duration: n * 1_000,
  }));
  const file = {
    name: join(process.cwd(), 'test/a.test.ts'),
    startTime: 1_000,
    endTime: 67_250,
    assertionResults,
  };
  writeFileSync(
    join(folder, 'test-core.json'),
    JSON.stringify({ testResults: [file, { ...file, assertionResults: [] }] }),
  );
  writeFileSync(join(folder, 'test-faults.json'), 'not whole');

  const [gate, slowest, ...others] = testTimes(folder);

  expect(gate).toBe('  132.5 s of workers  test-core, 2 files');
  expect(slowest).toBe('   11.0 s  test/a.test.ts: test 11');
  expect(others).toHaveLength(9);
});
