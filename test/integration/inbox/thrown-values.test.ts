import { expect, test } from 'vitest';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const withoutText: readonly (readonly [string, () => unknown])[] = [
  ['an object without a prototype', (): unknown => Object.create(null)],
  ['an error whose message throws', () => Object.defineProperty(new Error('x'), 'message', { get: refuse })],
];

function refuse(): never {
  throw new Error('not readable');
}

test.for(withoutText)(
  'a message whose handler throws %s is kept, and those behind it are handled',
  { tags: ['handler-may-throw-anything'], timeout: 120_000 },
  async ([, make], { onTestFinished }) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    const consumer = await inbox.consume({
      quickRetries: [],
      retry: [],
      before: ({ payload: { n } }) => {
        const thrown = make();
        if (n === 1) throw thrown;
      },
    });
    inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'b' });
    await until(() => consumer.counts().handled === 1, 40_000).catch(() => undefined);

    expect(await inbox.effects()).toEqual([2]);
    expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', error: expect.stringMatching(/./) }]);
  },
);

test('a message whose error the database refuses to store is kept without it', {
  tags: ['handler-may-throw-anything'],
}, async ({ onTestFinished }) => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  await inbox.database.query(
    `alter table outbox.parked add constraint storable check (last_error not like '%unstorable%')`,
  );
  const consumer = await inbox.consume({
    quickRetries: [],
    retry: [],
    before: ({ payload: { n } }) => {
      if (n === 1) throw new Error('unstorable');
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'b' });
  await until(() => consumer.counts().handled === 1, 40_000).catch(() => undefined);

  expect(await inbox.effects()).toEqual([2]);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'failed', reason: 'error', error: 'Its error cannot be recorded.' },
  ]);
});
