import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { groupsCommand, type TidyFlags } from '../../../src/cli/groups-command.ts';
import { createOutput } from '../../../src/cli/output.ts';
import type { Config } from '../../../src/config/config.ts';
import { redisStream } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { written } from '../../support/fixtures/written.ts';
import { joins } from './member.ts';
import { serverUrl } from './redis-subject.ts';

/** Short, so that a group is unused within a test. */
const unusedFor = '100ms';
const unusedForMs = 100;

/** A stream of three entries, the command on its topic, and a client to look at it. */
async function stage() {
  const address = `orders-${randomUUID().slice(0, 8)}`;
  const client = await redisAt(serverUrl);
  for (const n of ['1', '2', '3']) await client.xAdd(address, '*', { payload: n });
  const transport = redisStream({ url: serverUrl });
  onTestFinished(() => transport.close());
  const config: Config = { topics: [numbered('orders', { address })], transports: { redis: transport } };
  const groups = async (flags: TidyFlags = {}) => {
    const answers: { readonly groups: readonly Readonly<Record<string, unknown>>[] }[] = [];
    const output = {
      ...createOutput(true),
      value: (value: unknown) => void answers.push(value as (typeof answers)[number]),
    };
    expect(await groupsCommand(config, { unusedFor, ...flags }, output)).toBe(0);
    return answers[0]?.groups ?? [];
  };
  const names = async () => (await client.xInfoGroups(address)).map(({ name }) => name).toSorted();
  /** A group whose consumer has read so many entries, acknowledged some, and asks no more. */
  const left = async (group: string, read: number, acknowledged: number): Promise<void> => {
    await client.xGroupCreate(address, group, '0');
    if (read === 0) return;
    const [stream] = (await client.xReadGroup(
      group,
      'worker',
      { key: address, id: '>' },
      { COUNT: read },
    )) as readonly { readonly messages: readonly { readonly id: string }[] }[];
    const ids = (stream?.messages ?? []).slice(0, acknowledged).map(({ id }) => id);
    if (ids.length > 0) await client.xAck(address, group, ids);
    await until(async () =>
      (await client.xInfoConsumers(address, group)).every(({ idle }) => idle >= unusedForMs),
    );
  };
  return { address, client, config, groups, left, names, transport };
}

test('groups are listed with who uses them, and nothing is changed without --remove', async () => {
  const { address, groups, left, names, transport } = await stage();
  await left('open', 2, 1);
  await left('unused', 3, 3);
  await left('new', 0, 0);
  await (await joins(transport.source(), address, { group: 'alive' })).has(3);

  const found = new Map((await groups()).map(({ group, ...rest }) => [group, rest]));

  expect(found.get('alive')).toMatchObject({ address, verdict: 'in-use', consumers: 1 });
  expect(found.get('open')).toMatchObject({ verdict: 'open', open: 1 });
  expect(found.get('unused')).toMatchObject({ verdict: 'unused', open: 0, consumers: 1 });
  expect(found.get('new')).toMatchObject({ verdict: 'new', consumers: 0, quietMs: null });
  expect(await names()).toEqual(['alive', 'new', 'open', 'unused']);
});

test('--remove removes an unused group, and none that is used, open or new; a second time nothing', async () => {
  const { address, groups, left, names, transport } = await stage();
  await left('open', 2, 1);
  await left('unused', 3, 3);
  await left('new', 0, 0);
  const member = await joins(transport.source(), address, { group: 'alive' });
  await member.has(3);
  const removed = async () => (await groups({ remove: true })).filter(({ verdict }) => verdict === 'removed');

  expect(await removed()).toMatchObject([{ group: 'unused' }]);
  expect(await names()).toEqual(['alive', 'new', 'open']);
  expect(await removed()).toEqual([]);
  expect(member.errors).toEqual([]);
});

test('a group whose reader holds the lease is in use, however long it has asked for nothing', async () => {
  const { address, client, groups, left, names } = await stage();
  await left('held', 3, 3);
  await client.set(`${address}:reader:held`, 'held/frozen');

  expect(await groups({ remove: true })).toMatchObject([{ group: 'held', verdict: 'in-use' }]);
  expect(await names()).toEqual(['held']);
});

test('--force removes what it names with its lease, whatever it holds; it needs names', async () => {
  const { address, client, config, groups, left, names } = await stage();
  await left('open', 2, 1);
  await left('other', 2, 1);
  await client.set(`${address}:reader:open`, 'open/frozen');

  expect(await groups({ remove: true, force: true, group: 'open' })).toMatchObject([{ verdict: 'removed' }]);
  expect(await names()).toEqual(['other']);
  expect(await client.exists(`${address}:reader:open`)).toBe(0);

  for (const flags of [
    { remove: true, force: true },
    { force: true, group: 'other' },
  ]) {
    const { code, stderr } = await written((output) => groupsCommand(config, flags, output));
    expect([code, stderr]).toEqual([2, expect.stringContaining('--force')]);
  }
  expect(await names()).toEqual(['other']);
});

test('consumers that are gone leave a group that stays, unless they hold an entry', async () => {
  const { address, client, groups, left } = await stage();
  await left('billing', 2, 1);
  await client.xGroupCreateConsumer(address, 'billing', 'empty-handed');
  await until(async () =>
    (await client.xInfoConsumers(address, 'billing')).every(({ idle }) => idle >= unusedForMs),
  );

  expect(await groups()).toMatchObject([{ consumers: 2, goneConsumers: 1 }]);
  expect(await groups({ remove: true })).toMatchObject([{ verdict: 'open', goneConsumers: 1 }]);
  const kept = await client.xInfoConsumers(address, 'billing');
  expect(kept.map(({ name }) => name)).toEqual(['worker']);
});

test('the table says what was removed; a group that does not exist is refused', async () => {
  const { config, left } = await stage();
  await left('unused', 3, 3);
  const run = (flags: TidyFlags) =>
    written((output) => groupsCommand(config, { unusedFor, ...flags }, output));

  const looked = await run({});
  expect(looked.stdout).toMatch(/^unused .* unused$/m);
  expect(looked.stdout).toContain(
    'Unused: 1 group and, in other groups, 0 consumers; --remove removes them.',
  );
  expect((await run({ remove: true })).stdout).toContain(
    'Removed: 1 group and, in other groups, 0 consumers.',
  );
  expect((await run({})).stdout).toContain('No broker keeps a group.');
  await expect(run({ group: 'unused' })).rejects.toMatchObject({ code: 'OUTBOX_GROUP_UNKNOWN' });
  await expect(run({ topic: 'order' })).rejects.toMatchObject({ code: 'OUTBOX_TOPIC_UNKNOWN' });
});
