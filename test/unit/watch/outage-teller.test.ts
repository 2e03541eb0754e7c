import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LastSilence } from '../../../src/app/relay/last-silence.ts';
import type { AlertMessage } from '../../../src/watch/message.ts';
import { OutageTeller } from '../../../src/watch/outage-teller.ts';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const minute = 60_000;
const hour = 60 * minute;
const lookMs = 30_000;

/** A teller with two destinations, of which each may be broken, and what they were told. */
function telling() {
  const told: string[] = [];
  const now = { silenced: false, broken: new Set<string>() };
  const teller = new OutageTeller({
    server: { server: 'PostgreSQL', address: 'db:5432' },
    asker: 'the relay on a',
    destinations: (['webhook', 'email'] as const).map((name) => ({
      name,
      async tell({ alerts }: AlertMessage) {
        if (now.broken.has(name)) throw new Error('no answer');
        told.push(...alerts.map(({ state }) => `${name} ${state}`));
      },
    })),
    thresholdMs: minute,
    againMs: 4 * hour,
    calmLooks: 4,
    silenced: () => now.silenced,
    from: 'a shop',
    report: () => undefined,
  });
  const look = async (error: string | null, ms: number): Promise<void> => {
    for (let passed = 0; passed <= ms; passed += lookMs) {
      teller.looked(error);
      await pass(lookMs);
    }
  };
  return { told, now, look };
}

test('who was told of an outage is told that it is over once its rule is no longer silenced, however late', {
  tags: ['alerts-told-once'],
}, async () => {
  const { told, now, look } = telling();
  await look('refused', 2 * minute);
  expect(told).toEqual(['webhook firing', 'email firing']);

  now.silenced = true;
  await look(null, 30 * hour);
  expect(told).toHaveLength(2);
  now.silenced = false;
  await look(null, minute);
  expect(told.slice(2)).toEqual(['webhook over', 'email over']);
});

test('an outage is over after four looks in a row that are answered, and one within its threshold is told to nobody', async () => {
  const { told, look } = telling();
  await look('refused', minute / 2);
  await look(null, 0);
  await look('refused', 2 * minute);
  expect(told).toEqual(['webhook firing', 'email firing']);

  await look(null, 2 * lookMs);
  await look('refused', 0);
  await look(null, 2 * lookMs);
  expect(told).toHaveLength(2);
  await look(null, 0);
  expect(told.slice(2)).toEqual(['webhook over', 'email over']);
});

test('who was not told of an outage within an hour of its end is not told of it any more, and others are once', async () => {
  const { told, now, look } = telling();
  now.broken.add('email');
  await look('refused', 2 * minute);
  expect(told).toEqual(['webhook firing']);

  now.broken.add('webhook');
  await look(null, 2 * hour);
  now.broken.clear();
  await look(null, 10 * minute);
  expect(told.slice(1)).toEqual(['webhook over']);
});

test('a silence lasts as long as the database said, although the clock of the host was set back by an hour', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  const database = new ScriptedDatabase();
  database.on('from outbox.alert_silence', [{ leftMs: minute }]);
  const silence = new LastSilence(database, 'serverAway');
  expect(silence.lasts()).toBe(false);
  await silence.look();
  vi.setSystemTime(Date.now() - hour);
  database.refuse('from outbox.alert_silence', new Error('refused'));

  await pass(minute - 1_000);
  await silence.look();
  expect(silence.lasts()).toBe(true);
  await pass(2_000);
  expect(silence.lasts()).toBe(false);
});
