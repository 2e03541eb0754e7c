import { expect, test } from 'vitest';
import { lintAsProject } from './lint-fixtures.ts';

/** A timer of any time, as a global, as a property of one, and as an import. */
const timers = [
  `export const wake = (then: () => void, ms: number) => setTimeout(then, ms);\n`,
  `export const wake = (then: () => void, ms: number) => globalThis.setTimeout(then, ms);\n`,
  `import { setTimeout as delay } from 'node:timers/promises';\nexport const wait = delay;\n`,
];
const library = ['src/app/relay', 'src/brokers/kafka', 'src/cli', 'src/core', 'src/inbox', 'src/testing'];

test('the linter refuses timers of Node in the library, where their time may be that of a user', async () => {
  const files = new Map(
    [...library, 'dev/servers'].flatMap((folder) =>
      timers.map((code, index) => [`${folder}/timer-${index}.ts`, code] as const),
    ),
  );

  const findings = (await lintAsProject(files)).filter(({ text }) => text.includes('use startTimer of'));

  expect(findings.map(({ file }) => file).toSorted()).toEqual(
    [...files.keys()].filter((file) => file.startsWith('src/')).toSorted(),
  );
});
