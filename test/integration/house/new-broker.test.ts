// @module-tag apart
import { expect, test } from 'vitest';
import { lintAsProject } from '../../unit/house/lint-fixtures.ts';
import { type Edit, edited, typeErrors } from './compiled-overlay.ts';

/** The folder of a broker that somebody adds: a folder of files, one line a message. */
const added: Readonly<Record<string, string>> = {
  'src/brokers/spool/client/folder.ts': `import { requirePackages } from '../../../core/packages.ts';

/** Where the files are. */
export interface Folder {
  readonly path: string;
}

export function folderAt(path: string): Folder {
  requirePackages('spool');
  return { path };
}
`,
  'src/brokers/spool/source/spool-source.ts': `import type { Source } from '../../source.ts';
import type { Folder } from '../client/folder.ts';

export function spoolSource(folder: Folder): Source {
  return {
    name: 'spool',
    redeliveryPeriodMs: async () => Infinity,
    subscribe: () => Promise.reject(new Error(folder.path)),
  };
}
`,
  'src/brokers/spool/transport/spool-transport.ts': `import type { ReceivingTransport } from '../../receiving-transport.ts';
import { sendByKey } from '../../send-by-key.ts';
import { folderAt } from '../client/folder.ts';
import { spoolSource } from '../source/spool-source.ts';

/** Appends messages to files. */
export function spool(path: string): ReceivingTransport {
  const folder = folderAt(path);
  return {
    name: 'spool',
    endpoint: folder.path,
    publish: (batch) => sendByKey(batch, 1, async () => ({ kind: 'acknowledged', partition: null, offset: null })),
    probe: async () => undefined,
    source: () => spoolSource(folder),
    topics: { missing: async () => [], create: async () => false },
    durability: async () => [{ check: 'spool', state: 'ok', message: 'Lines are synced.', next: null }],
    close: async () => undefined,
  };
}
`,
};

/** What has to be changed besides: its export, and the package that it brings with its versions. */
const changed: Readonly<Record<string, readonly Edit[]>> = {
  'src/transports.ts': [
    {
      after: "export { rocketmq } from './brokers/rocketmq/transport/rocketmq-transport.ts';\n",
      line: "export { spool } from './brokers/spool/transport/spool-transport.ts';\n",
    },
  ],
  'src/core/package-lines.ts': [
    {
      after: "  'rocketmq-client-nodejs': only(major(1, '1.0.8')),\n",
      line: "  'fs-extra': only(major(11)),\n",
    },
    {
      after: "  rocketmq: { for: 'RocketMQ', packages: ['rocketmq-client-nodejs'] },\n",
      line: "  spool: { for: 'A spool', packages: ['fs-extra'] },\n",
    },
  ],
};

/** In a configuration, once as meant and once with a mistake that shows that the compiler reads it. */
const use = (argument: string) => `import { spool } from '../transports.ts';
import type { Config } from './config.ts';

export const config: Config = { topics: [], transports: { spool: spool(${argument}) } };
`;

test('a new broker is one folder, one export, one package and its versions', async () => {
  const overlay = new Map([...Object.entries(added), ...edited(changed)]);
  const uses = [
    ['src/config/uses-spool.ts', use(`'/var/spool'`)],
    ['src/config/misuses-spool.ts', use('7')],
  ] as const;

  const errors = await typeErrors(new Map([...overlay, ...uses]));
  expect(errors.trim().split('\n')).toEqual([
    expect.stringMatching(/^src\/config\/misuses-spool\.ts.*'number' is not assignable .*'string'/),
  ]);
  const findings = await lintAsProject(overlay);
  expect(findings.filter(({ rule }) => rule.includes('no-restricted'))).toEqual([]);
}, 60_000);
