/** What tests cost, of the result files of vitest in a folder: seconds of workers by gate, and the slowest tests. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const shown = 10;

/** The lines; a run that ended before it wrote its results is left out. */
export function testTimes(folder) {
  const gates = readdirSync(folder)
    .toSorted()
    .flatMap((file) => resultsOf(folder, file));
  const tests = gates.flatMap(({ files }) =>
    files.flatMap(({ assertionResults, name }) =>
      assertionResults.map(({ duration, fullName }) => ({
        ms: duration ?? 0,
        title: `${path.relative(process.cwd(), name)}: ${fullName}`,
      })),
    ),
  );
  return [
    ...gates.map(({ files, gate }) => {
      const ms = files.reduce((sum, { endTime, startTime }) => sum + endTime - startTime, 0);
      return `${seconds(ms)} of workers  ${gate}, ${files.length} files`;
    }),
    ...tests
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, shown)
      .map(({ ms, title }) => `${seconds(ms)}  ${title}`),
  ];
}

function resultsOf(folder, file) {
  try {
    const { testResults } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
    return [{ gate: path.basename(file, '.json'), files: testResults }];
  } catch {
    return [];
  }
}

function seconds(ms) {
  return `${(ms / 1_000).toFixed(1).padStart(7)} s`;
}
