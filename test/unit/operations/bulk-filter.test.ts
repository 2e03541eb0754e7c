import { expect, test } from 'vitest';
import { transitions } from '../../../src/core/transitions.ts';
import { checkBulkFilter, checkChange, checkOptions } from '../../../src/operations/bulk/checks.ts';
import type { MessageFilter } from '../../../src/operations/list.ts';
import type { BulkAction, BulkChange } from '../../../src/store/bulk/bulk.ts';
import { actionableStates } from '../../../src/store/bulk/changes.ts';

const ada = { actor: 'ada', reason: 'a test' };
/** What is expected of the error about an option. */
const refused = (option: string) => ({ code: 'OUTBOX_OPTION_INVALID', details: { option } });

/** What a call throws. */
function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return 'nothing';
}

test('an empty filter is refused, and so is one whose values are all undefined', () => {
  const ofUndefined: object = { topic: undefined, states: undefined };
  for (const filter of [{}, ofUndefined])
    expect(thrown(() => checkBulkFilter(filter, 'retry'))).toMatchObject(refused('filter'));
});

test('without states a filter means all states that the action can change', () => {
  expect(checkBulkFilter({ topic: 'orders' }, 'retry')).toEqual({
    topic: 'orders',
    states: ['retrying', 'failed'],
  });
  expect(checkBulkFilter({ key: 'K' }, 'cancel').states).toEqual(['waiting', 'blocked', 'retrying']);
});

test.each([
  ['retry', 'published'],
  ['discard', 'retrying'],
  ['cancel', 'ready'],
  ['reschedule', 'failed'],
] as const)('%s is refused for messages that are %s', (action, state) => {
  expect(thrown(() => checkBulkFilter({ states: [state] }, action))).toMatchObject(refused('states'));
});

test('a filter by id, an unknown filter and an invalid time are refused', () => {
  const id = '00000000-0000-4000-8000-000000000000';
  expect(thrown(() => checkBulkFilter({ id }, 'retry'))).toMatchObject(refused('id'));
  expect(thrown(() => checkBulkFilter({ createdTo: new Date('yesterday') }, 'retry'))).toMatchObject(
    refused('createdTo'),
  );
  expect(thrown(() => checkBulkFilter({ nonsense: 'x' } as MessageFilter, 'retry'))).toMatchObject(
    refused('nonsense'),
  );
});

test('a reason and a valid rate are required', () => {
  expect(checkOptions(ada)).toEqual({ author: ada, ratePerSecond: 500, expect: undefined, dryRun: false });
  expect(thrown(() => checkOptions({ actor: 'ada', reason: ' ' }))).toMatchObject(refused('reason'));
  for (const ratePerSecond of [0, 1.5, 10_001, Number.NaN])
    expect(thrown(() => checkOptions({ ...ada, ratePerSecond }))).toMatchObject(refused('ratePerSecond'));
  expect(thrown(() => checkOptions({ ...ada, expect: -1 }))).toMatchObject(refused('expect'));
});

test('a withdrawal is of named messages: as a change by a filter it is refused', () => {
  // As a program without types may ask for it.
  const change = { action: 'withdraw' } as unknown as BulkChange;
  expect(thrown(() => checkChange(change))).toMatchObject(refused('action'));
});

test('a due time must be a valid time', () => {
  const due: BulkChange = { action: 'reschedule', due: { shiftMs: -60_000 } };
  expect(checkChange(due)).toEqual(due);
  expect(thrown(() => checkChange({ action: 'reschedule', due: { afterMs: -1 } }))).toMatchObject(
    refused('afterMs'),
  );
  expect(thrown(() => checkChange({ action: 'reschedule', due: { shiftMs: Number.NaN } }))).toMatchObject(
    refused('shiftMs'),
  );
  expect(thrown(() => checkChange({ action: 'reschedule', due: { at: 'soon' } }))).toMatchObject(
    refused('at'),
  );
});

test('an action accepts exactly the states that it can change', () => {
  const leads: Readonly<Record<Exclude<BulkAction, 'replay' | 'reschedule'>, string>> = {
    cancel: 'cancel',
    discard: 'discard by an operator',
    retry: 'an operator',
  };
  for (const action of ['cancel', 'discard', 'retry'] as const) {
    const from = transitions.filter(({ by }) => by.includes(leads[action]) && !by.includes('gives up'));
    const to = { cancel: 'canceled', discard: 'discarded', retry: 'ready' }[action];
    const states = new Set(from.filter((each) => each.to === to).map((each) => each.from));
    expect(new Set(actionableStates[action]), action).toEqual(states);
  }
});
