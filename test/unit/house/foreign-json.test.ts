import { expect, test } from 'vitest';
import { lintAsProject } from './lint-fixtures.ts';

const folders = [
  'src/api',
  'src/app/relay',
  'src/brokers/rocketmq/client',
  'src/cli',
  'src/config',
  'src/inbox',
];

test('the linter refuses to parse JSON of others, whose parser has no code and quotes the text', async () => {
  const code = `export const read = (text: string): unknown => JSON.parse(text);\n`;
  const files = new Map([...folders, 'dev/servers'].map((folder) => [`${folder}/read.ts`, code] as const));

  const findings = (await lintAsProject(files)).filter(({ text }) => text.includes('read by readJson'));

  expect(findings.map(({ file }) => file).toSorted()).toEqual(folders.map((folder) => `${folder}/read.ts`));
});
