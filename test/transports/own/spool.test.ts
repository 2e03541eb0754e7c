import { appendFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DeliveredMessage, type TransportSubject, transportContract } from '../../../src/testing.ts';
import { spool } from './spool.ts';

const address = 'orders.ndjson';

/** A temporary folder, which is moved away to make the address unreachable. */
async function subject(): Promise<TransportSubject> {
  const folder = await mkdtemp(join(tmpdir(), 'spool-'));
  const away = `${folder}-away`;
  const transport = spool({ folder });
  let moved = false;
  return {
    transport,
    address,
    partitions: 1,
    read: () => linesOf(join(folder, address)),
    dispose: () => rm(folder, { recursive: true }),
    faults: {
      refused: (message) => ({ ...message, payload: 'z'.repeat(1_000_000) }),
      async hold() {
        await transport.close();
        await rename(folder, away);
        moved = true;
      },
      async heal() {
        if (moved) await rename(away, folder);
        moved = false;
      },
    },
  };
}

async function linesOf(file: string): Promise<readonly DeliveredMessage[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  // Every line ends in a brace, except for halves of lines, which were not acknowledged.
  const lines = text.split('\n').filter((line) => line.endsWith('}'));
  return lines.map((line) => ({
    ...(JSON.parse(line) as Omit<DeliveredMessage, 'partition' | 'offset'>),
    partition: null,
    offset: null,
  }));
}

const cases = await transportContract(subject);

test('the contract runs every case whose fault a file can have', () => {
  expect(cases).toHaveLength(15);
});

for (const { name, run } of cases) test(name, run);

test('an acknowledged line is readable, whatever a full disk has left of the one before it', async () => {
  const stage = await subject();
  const { transport } = stage;
  const message = { id: 'm-1', key: null, headers: {}, payload: '{}' };
  await appendFile(join(transport.endpoint ?? '', address), '{"id":"m-0","ke');

  const { outcomes } = await transport.publish({
    address,
    partitions: 1,
    messages: [message],
    signal: new AbortController().signal,
  });

  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }]);
  expect(await stage.read()).toMatchObject([message]);
  await transport.close();
  await stage.dispose();
});
