import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chainsTo, typeChainsTo } from './loaded-packages.ts';

interface Entry {
  readonly types: string;
  readonly default: string;
}

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly exports: Readonly<Record<string, Entry | string>>;
};
const entries = Object.entries(exports).flatMap(([name, entry]) =>
  typeof entry === 'string' ? [] : [{ name, ...entry }],
);

const temporal = ['@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/workflow'];
const heavy = [
  ...temporal,
  '@temporalio/common',
  'kafkajs',
  '@platformatic/kafka',
  'commander',
  'jiti',
  '@redis/client',
  'undici',
  'standardwebhooks',
  '@prisma/client',
  '@opentelemetry/api',
];

test('importing the library as a sender loads neither a client of a server nor anything of the commands', async () => {
  expect(await chainsTo([...heavy, 'pg', 'fzstd'], './dist/src/index.js')).toEqual([]);
});

test('only the entry point of the workflows loads an optional package before it is used', async () => {
  for (const entry of entries.filter(({ name }) => name !== './workflows'))
    expect(await chainsTo(heavy, entry.default), entry.name).toEqual([]);
});

test('the types of a sender, of an operator and of tests name no optional package', () => {
  for (const name of ['.', './operations', './testing']) {
    const entry = entries.find((one) => one.name === name);
    expect(typeChainsTo([...heavy, 'pg'], entry?.types ?? ''), name).toEqual([]);
  }
});

test('a loaded package is named with the files that lead to it', async () => {
  const chains = await chainsTo(['@temporalio/workflow'], './dist/workflows/index.js');
  expect(chains[0]).toMatch(
    /^dist\/workflows\/index\.js -> dist\/workflows\/\S+\.js -> node_modules\/@temporalio\//,
  );
  expect(typeChainsTo(['@temporalio/worker'], './dist/src/relay.d.ts')).not.toEqual([]);
});
