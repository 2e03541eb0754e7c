import { expect, test } from 'vitest';
import { anchorsOf, withNames } from '../../mutations/anchor.ts';

const source = `
async function publishAll(batch: Batch): Promise<void> {
  for (const message of batch.messages)
    if (message.dueAt <= now) await publish(message, batch.topic);
}
async function sweep(batch: Batch): Promise<void> {
  if (batch.dueAt <= now) await release(batch);
}`;

const textsOf = (part: string) => anchorsOf(source, part).map(({ start, end }) => source.slice(start, end));

test('a part is found in any layout', () => {
  expect(textsOf('if(message.dueAt<=now)\n  await publish ( message,batch.topic )')).toEqual([
    'if (message.dueAt <= now) await publish(message, batch.topic)',
  ]);
});

test('a part is made of whole words', () => {
  expect(textsOf('release(bat')).toEqual([]);
  expect(textsOf('essage.dueAt')).toEqual([]);
});

test('each place that fits is answered', () => {
  expect(textsOf('.dueAt <= now')).toEqual(['.dueAt <= now', '.dueAt <= now']);
});

test('a part whose names have changed is found, and its replacement gets the new ones', () => {
  const [anchor, ...others] = anchorsOf(source, 'if (record.dueAt <= now) await send(record, batch.topic)');
  expect(others).toEqual([]);
  expect(source.slice(anchor?.start, anchor?.end)).toBe(
    'if (message.dueAt <= now) await publish(message, batch.topic)',
  );
  expect(withNames('await send(record, batch.topic)', anchor?.renamed ?? new Map())).toBe(
    'await publish(message, batch.topic)',
  );
});

test('of several places the one whose new name has most words of the old one is meant', () => {
  const calls = 'await dropOldRates(database);\nawait dropLeaves(database);\nawait walk(database);';
  const places = (part: string) => anchorsOf(calls, part).map(({ start, end }) => calls.slice(start, end));
  expect(places('await dropIdleRates(database);')).toEqual(['await dropOldRates(database);']);
  expect(places('await forgetTopics(database);')).toHaveLength(3);
});

test.each([
  ['more names than a rename changes', 'if (record.dueAt <= instant) await send(record, batch.topic)'],
  ['a name that its source still has', 'if (batch.dueAt <= now) await publish(message, batch.topic)'],
  ['one name that would have two', 'await send(send, batch.topic)'],
  ['two names that would be one', 'for (const record of batch.messages) if (entry.dueAt'],
  ['hardly anything beside names', 'send(record'],
  ['another operator', 'if (record.dueAt < now) await send(record, batch.topic)'],
  ['another number', 'retries > 5'],
])('what differs by %s is another statement', (_, part) => {
  expect(textsOf(part)).toEqual([]);
});
