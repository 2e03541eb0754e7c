import { expect, test } from 'vitest';
import { resumeOwn, setPaused } from '../../../src/store/lane/pause.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const read = 'select paused from outbox.topic';
const write = 'update outbox.topic set paused = $2';
const used = 'select from outbox.topic where transport';
const known = 'insert into outbox.transport';
const transport = 'update outbox.transport set paused';
const audit = 'insert into outbox.audit';
const lock = 'select from outbox.topic where name = $1 for update';
const since = `action = 'pause' and id > $2`;
const author = { actor: 'ann', reason: 'a test' };

function stage(paused = false) {
  const entries: Record<string, unknown>[] = [];
  const database = new ScriptedDatabase()
    .on(read, [{ paused }])
    .on(used, [{}])
    .on(transport, paused ? [] : [{}])
    .on(audit, ([json]) => {
      entries.push(...(JSON.parse(json as string) as Record<string, unknown>[]));
      return [{ id: '17' }];
    });
  for (const part of [write, known, lock, since]) database.on(part, []);
  return { database, entries };
}

test('a transport is paused whether known or not, and its entry names it', async () => {
  for (const before of [false, true]) {
    const { database, entries } = stage(before);
    const { changed } = await setPaused(database, { transport: 'kafka' }, true, author, {
      details: { n: 1 },
    });
    expect(changed).toBe(!before);
    expect(database.asked.map(({ part, values }) => [part, ...values]).slice(0, 3)).toEqual([
      [used, 'kafka'],
      [known, 'kafka'],
      [transport, 'kafka', true],
    ]);
    expect(entries).toMatchObject([
      {
        action: 'pause',
        result: before ? 'unchanged' : 'done',
        topic: null,
        details: { transport: 'kafka', n: 1 },
      },
    ]);
  }
});

test('an own pause ends, unless the topic was paused again or resumed since', async () => {
  for (const [paused, again, result] of [
    [true, false, 'done'],
    [true, true, 'left-paused'],
    [false, false, 'left-paused'],
  ] as const) {
    const { database, entries } = stage(paused);
    database.on(since, again ? [{}] : []);
    await resumeOwn(database, 'orders', '16', author);
    expect(database.valuesOf(since)).toEqual([['orders', '16']]);
    expect(database.asked[0]?.part).toBe(lock);
    expect(database.valuesOf(write)).toEqual(result === 'done' ? [['orders', false]] : []);
    expect(entries).toMatchObject([{ action: 'resume', result, topic: 'orders', details: { pause: '16' } }]);
    expect(database.asked.every(({ inTransaction }) => inTransaction)).toBe(true);
  }
});
