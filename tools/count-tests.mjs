/**
 * Prints `passed failed` from the result files of vitest in a folder. A file that failed without a failing test (it
 * could not be loaded, or its set-up threw) counts as one failure. Exits with 1 when nothing ran.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const [folder] = process.argv.slice(2);

/** The results of the runs; a run that ended before it wrote any is left out. */
function readResults() {
  return readdirSync(folder).flatMap((file) => {
    try {
      return JSON.parse(readFileSync(path.join(folder, file), 'utf8')).testResults;
    } catch {
      return [];
    }
  });
}

let passed = 0;
let failed = 0;
for (const { status, assertionResults } of readResults()) {
  const failures = assertionResults.filter((test) => test.status === 'failed').length;
  passed += assertionResults.filter((test) => test.status === 'passed').length;
  failed += failures === 0 && status === 'failed' ? 1 : failures;
}

if (passed + failed === 0) process.exitCode = 1;
else process.stdout.write(`${passed} ${failed}\n`);
