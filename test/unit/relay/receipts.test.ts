import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receipt, writeReceipt } from '../../../src/core/receipt.ts';
import { ReceiptIntake } from '../../../src/relay/receipts.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const confirm = 'with named as materialized';
const prolong = 'sends = 0';
const installation = '01900000-0000-7000-8000-000000000000';
const id = (n: number) => `01900000-0000-7000-8000-00000000000${n}`;

function intake() {
  const database = new ScriptedDatabase();
  const events: RelayEvent[] = [];
  const stop = new AbortController();
  const receipts = new ReceiptIntake({ database, installation, report: (event) => events.push(event) });
  const apply = (receipt: Partial<Receipt>) => {
    const whole = {
      group: 'bills',
      installation,
      state: 'processed',
      ids: [id(1), id(2)],
      ...receipt,
    } as const;
    return receipts.apply(new TextEncoder().encode(writeReceipt(whole)), stop.signal);
  };
  /** Answers confirms with what is left locked. */
  const lock = (...locked: (readonly string[])[]) =>
    database.on(confirm, () => [{ topic: 'orders', count: 1, locked: locked.shift() ?? [] }]);
  return { database, events, stop, receipts, apply, lock, confirms: () => database.valuesOf(confirm) };
}

test('a processed message is confirmed and reported by topic', async () => {
  const { database, events, apply, confirms } = intake();
  database.on(confirm, [
    { topic: 'orders', count: 2, locked: [] },
    { topic: 'bills', count: 1, locked: [] },
  ]);
  expect(await byNow(apply({}))).toBe(true);
  expect(confirms()).toEqual([['bills', [id(1), id(2)]]]);
  expect(events).toEqual([
    { type: 'messages-confirmed', topic: 'orders', count: 2 },
    { type: 'messages-confirmed', topic: 'bills', count: 1 },
  ]);
});

test('a receipt that the database refuses is not applied, whatever its content', async () => {
  for (const state of ['processed', 'parked'] as const) {
    const { database, apply } = intake();
    const error = new Error('no connection');
    database.refuse(confirm, error).refuse(prolong, error);
    await expect(apply({ state })).rejects.toBe(error);
  }
});

test('receipts of other installations are skipped, but not those without an installation', async () => {
  const { database, apply, lock } = intake();
  lock();
  expect(await byNow(apply({ installation: id(9) }))).toBe(true);
  expect(database.asked).toEqual([]);
  expect(await byNow(apply({ installation: undefined }))).toBe(true);
  expect(database.asked).toHaveLength(1);
});

test('ids of other senders, which are not UUIDs, are left out', async () => {
  const { apply, lock, confirms } = intake();
  lock();
  const ids = ['order-7', id(1).toUpperCase(), `${id(1)}0`, `x${id(1)}`, id(1).slice(1)];
  expect(await byNow(apply({ ids }))).toBe(true);
  expect(await byNow(apply({ ids: ['order-7'] }))).toBe(true);
  expect(confirms()).toEqual([['bills', [id(1).toUpperCase()]]]);
});

test('only locked rows are tried again, forty times a second', async () => {
  const { events, apply, lock, confirms } = intake();
  lock([id(2)], [id(2)]);
  const applied = soFar(apply({}));
  await pass(0);
  expect(confirms()).toHaveLength(1);
  await pass(24);
  expect(confirms()).toHaveLength(1);
  await pass(1);
  expect(confirms()).toHaveLength(2);
  expect(applied.state).toBe('open');
  await pass(25);
  expect(applied).toEqual({ state: 'resolved', value: true });
  expect(confirms().map(([, ids]) => ids)).toEqual([[id(1), id(2)], [id(2)], [id(2)]]);
  expect(events).toHaveLength(3);
});

test('a receipt whose rows stay locked for a second, or that is stopped, must be offered again', async () => {
  for (const [stopAtMs, tries] of [
    [undefined, 40],
    [60, 4],
  ] as const) {
    const { stop, apply, database, confirms } = intake();
    database.on(confirm, [{ topic: null, count: 0, locked: [id(2)] }]);
    const applied = soFar(apply({}));
    await pass(stopAtMs ?? 974);
    expect(applied.state).toBe('open');
    if (stopAtMs !== undefined) stop.abort();
    await pass(stopAtMs === undefined ? 1 : 0);
    expect(applied).toEqual({ state: 'resolved', value: false });
    expect(confirms()).toHaveLength(tries);
  }
});
