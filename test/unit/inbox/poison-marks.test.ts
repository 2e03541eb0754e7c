import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { OneSuspect } from '../../../src/inbox/handling/one-suspect.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import { PoisonMarks } from '../../../src/inbox/intake/poison-marks.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

const first = { address: 'orders', partition: 0 };
const second = { address: 'orders', partition: 1 };

/** @param suspects what the database answers to each question for those that others have left */
function made(...suspects: readonly (readonly object[])[]) {
  const database = new ScriptedClient();
  const left = [...suspects];
  database.on('suspect as materialized', () => left.shift() ?? []);
  const turns = new OneSuspect();
  const client = new InboxTransactions(database.client, 5_000);
  const rules = resolveConsumerRules({ group: 'shop', maxKills: 3 });
  const marks = new PoisonMarks({ client, rules, suspects: turns });
  return { database, marks, turns };
}

const suspect = (id: string, kills = 1, alone = true) => ({ id, kills, alone });

test('a mark has what is in hand, and the same owner all the time', async () => {
  const { database, marks } = made();

  expect(await marks.begin(first, ['a', 'b'])).toBe(true);
  expect(await marks.begin(second, [])).toBe(true);
  expect(await marks.beginOne(second, 'c')).toBe(true);
  await marks.leave(first);
  await marks.clear();

  const [begun = [], one = []] = database.said('insert into outbox.mark');
  const owner = begun[3];
  expect(owner).toMatch(/^[0-9a-f-]{36}$/);
  expect(begun).toEqual(['shop', 'orders', 0, owner, ['a', 'b'], 0]);
  expect(one, 'nothing is marked for no message').toEqual(['shop', 'orders', 1, owner, ['c'], 0]);
  expect(database.said('and partition = $3 and owner')).toEqual([['shop', 'orders', 0, owner]]);
  expect(database.said('where consumer_group = $1 and owner')).toEqual([['shop', owner]]);
});

test('one suspect of the consumer is in hand at a time, and the next one begins when it has ended', async () => {
  const { database, marks } = made([suspect('a')], [suspect('b')]);
  await marks.begin(first, ['a']);
  await marks.begin(second, ['b']);
  await marks.beginOne(first, 'a');

  let begun = false;
  const other = marks.beginOne(second, 'b').then((may) => (begun = may));
  await turn();
  expect(begun).toBe(false);
  expect(database.said('insert into outbox.mark'), 'nor is it marked').toHaveLength(3);
  marks.endOne(first, 'a');
  await other;
  expect(begun).toBe(true);
});

test.each([
  ['the next messages of its partition begin', (marks: Marks) => marks.begin(first, ['z'])],
  ['it is left to a later offer', (marks: Marks) => marks.leave(first)],
  ['its partition is no longer assigned', async (marks: Marks) => marks.keepOnly([second])],
] as const)('a suspect is no longer in hand when %s', async (_, ends) => {
  const { marks, turns } = made([suspect('a'), suspect('b')]);
  await marks.begin(first, ['a', 'b']);
  await marks.beginOne(first, 'a');
  expect(turns.take()).toBe(false);

  await ends(marks);

  expect(turns.take()).toBe(true);
});

test('suspicion ends with the next messages of the partition, or when it is assigned elsewhere', async () => {
  const { marks } = made([suspect('a', 3)], [], [suspect('a', 3)], [suspect('a', 3)]);
  await marks.begin(first, ['a']);
  await marks.begin(first, ['a']);
  expect(await marks.beginOne(first, 'a')).toBe(true);
  marks.endOne(first, 'a');

  await marks.begin(first, ['a']);
  await marks.begin(second, ['a']);
  marks.keepOnly([second]);
  expect(await marks.beginOne(second, 'a'), 'still assigned').toBe(false);
  expect(await marks.beginOne(first, 'a')).toBe(true);
  marks.keepOnly([first]);
  marks.endOne(first, 'a');
  expect(await marks.beginOne(second, 'a')).toBe(true);
});

test('a suspect of a partition that stays assigned stays in hand', async () => {
  const { marks, turns } = made([suspect('a')]);
  await marks.begin(first, ['a']);
  await marks.beginOne(first, 'a');

  marks.keepOnly([first, second]);

  expect(turns.take()).toBe(false);
});

test('messages that others left are handled singly, with their earlier deaths, until one has killed too often while alone', async () => {
  const { database, marks } = made([
    suspect('a', 2),
    suspect('b', 3),
    suspect('c', 9, false),
    suspect('d', 4),
  ]);

  expect(await marks.begin(first, ['a', 'b', 'c', 'd', 'e'])).toBe(false);

  expect(await marks.beginOne(first, 'a')).toBe(true);
  expect(marks.endOne(first, 'a')).toBe(true);
  expect(await marks.beginOne(first, 'b')).toBe(false);
  expect(marks.endOne(first, 'b')).toBe(true);
  expect(await marks.beginOne(first, 'c')).toBe(true);
  expect(marks.endOne(first, 'c')).toBe(true);
  expect(await marks.beginOne(first, 'd')).toBe(false);
  expect(marks.endOne(first, 'd'), 'the last one').toBe(false);
  expect(await marks.beginOne(first, 'e')).toBe(true);
  expect(database.said('insert into outbox.mark').map((values) => values.slice(4))).toEqual([
    [['a', 'b', 'c', 'd', 'e'], 0],
    [['a'], 2],
    [['c'], 9],
    [['e'], 0],
  ]);
});

type Marks = ReturnType<typeof made>['marks'];
