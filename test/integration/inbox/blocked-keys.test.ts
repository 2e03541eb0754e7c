import { expect, test } from 'vitest';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { giveUp, type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

const of = ({ group }: KeptFixture, ...ids: readonly string[]) => ({ group, ids });

/** A key that a failed message blocks, with two more behind it. */
async function blockedKey(fixture: KeptFixture): Promise<readonly [blocker: string, string, string]> {
  const blocker = await fixture.keep('blocker');
  const behind = [await fixture.keep('second'), await fixture.keep('third')] as const;
  const begun = await fixture.beginOnceKnown(blocker);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);
  await giveUp(fixture, begun.message, true);
  return [blocker, ...behind];
}

/** What becomes of a message of the key that arrives now. */
const arrivesNow = (fixture: KeptFixture) =>
  fixture.database.transaction((sql) =>
    noteArrivals(sql, fixture.group, [{ id: 'late', topic: 'orders', key: 'K' }]),
  );

test('discarding messages behind a failed one that blocks its key lets no other pass it', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  const [blocker, second, third] = await blockedKey(fixture);

  expect(await fixture.operator.inbox.discard(of(fixture, second), ada)).toMatchObject([
    { result: 'discarded' },
  ]);
  expect((await fixture.keyOf(blocker))?.dueInMs, 'it has no time').toBeNull();
  expect(await fixture.begin(third)).toMatchObject({ kind: 'blocked' });

  expect(await fixture.operator.inbox.discard(of(fixture, third), ada)).toMatchObject([
    { result: 'discarded' },
  ]);
  expect(await arrivesNow(fixture)).toEqual(['behind']);
});

test('messages behind a failed one that blocks its key can be neither retried nor edited before it', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  const [blocker, second, third] = await blockedKey(fixture);

  expect(await fixture.operator.inbox.retry(of(fixture, second), ada)).toMatchObject([
    { result: 'behind-key' },
  ]);
  const edit = fixture.operator.inbox.edit({ group: fixture.group, id: third }, { ...ada, payload: 1 });
  await expect(edit).rejects.toThrow('an earlier message of its key goes first');
  expect(await fixture.begin(second)).toMatchObject({ kind: 'blocked' });

  await fixture.operator.inbox.retry(of(fixture, blocker), ada);
  expect(await fixture.drain(blocker)).toEqual([blocker, second, third]);
});

test('an older failed message of a blocked key is handled when retried, and the key is blocked again', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  const older = await fixture.keep('older', { state: 'failed' });
  const blocker = await fixture.keep('blocker', { state: 'failed', blocksKey: true });
  const behind = await fixture.keep('behind');

  expect(await fixture.operator.inbox.retry(of(fixture, older), ada)).toMatchObject([{ result: 'retried' }]);

  expect(await fixture.drain(older)).toEqual([older]);
  expect(await fixture.begin(behind)).toMatchObject({ kind: 'blocked' });
  expect((await fixture.keyOf(blocker))?.dueInMs, 'it has no time').toBeNull();
  expect(await arrivesNow(fixture)).toEqual(['behind']);
});

test('a message that fails behind one that was retried in between blocks its key only after that one', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  const older = await fixture.keep('older', { state: 'failed' });
  const [tried, behind] = [await fixture.keep('tried'), await fixture.keep('behind')];
  const begun = await fixture.beginOnceKnown(tried);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);

  expect(await fixture.operator.inbox.retry(of(fixture, older), ada)).toMatchObject([{ result: 'retried' }]);
  await giveUp(fixture, begun.message, true);
  const shown = await fixture.operator.inbox.show({ group: fixture.group, id: behind });
  expect(shown).toMatchObject({ why: { text: expect.stringContaining('2 messages') } });

  expect(await fixture.drain(older)).toEqual([older]);
  expect(await fixture.begin(behind)).toMatchObject({ kind: 'blocked' });
  await fixture.operator.inbox.retry(of(fixture, tried), ada);
  expect(await fixture.drain(tried)).toEqual([tried, behind]);
});
