import { memorySource } from '../../src/sources/memory/memory-source.ts';
import { crashAt } from '../../src/testing/crash-at.ts';
import { feed, startFed } from './fed-consumer.ts';
import type { FedProcessSettings } from './fed-process.ts';
import { openPrisma } from './prisma.ts';

// A consumer with a broker of its own, whose handler fails or dies as it is told; `fed-process.ts` starts it.
const {
  crash,
  deadly,
  failing,
  failures = 1,
  feeds,
  url,
  ...settings
} = JSON.parse(process.argv[2] ?? '') as FedProcessSettings;

if (crash !== undefined) crashAt(crash.point, { pass: crash.pass });
const source = memorySource({ partitions: 1 });
feed(source, ...feeds);
await startFed(openPrisma(url), source, {
  ...settings,
  name: 'doomed',
  before: ({ attempt, payload: { n } }) => {
    if (n === deadly) process.kill(process.pid, 'SIGKILL');
    if (n === failing && attempt <= failures) throw new Error('the bank is closed');
  },
});
