import { expect, test } from 'vitest';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import { filterInEpoch } from '../../../src/inbox/window/filter-in-epoch.ts';

/** A filter that keeps its ids, and shows them to the test. */
function remembering() {
  const groups = new Map<string, Set<string>>();
  const state = { closed: 0, calls: 0 };
  const filter: SeenFilter = {
    seen: async (group, ids) => {
      state.calls += 1;
      return new Set(ids.filter((id) => groups.get(group)?.has(id)));
    },
    add: async (group, ids) => {
      state.calls += 1;
      groups.set(group, new Set([...(groups.get(group) ?? []), ...ids]));
    },
    close: async () => {
      state.closed += 1;
    },
  };
  return { filter, state };
}

test('a noted id is seen again, in its own group only', async () => {
  const filter = filterInEpoch(remembering().filter, 'first');
  await filter.add('web', ['a', 'b']);

  expect(await filter.seen('web', ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
  expect(await filter.seen('mail', ['a'])).toEqual(new Set());
});

test('in another epoch nothing is seen, and the first still has its own', async () => {
  const { filter } = remembering();
  await filterInEpoch(filter, 'before').add('web', ['a']);

  expect(await filterInEpoch(filter, 'after').seen('web', ['a'])).toEqual(new Set());
  expect(await filterInEpoch(filter, 'before').seen('web', ['a'])).toEqual(new Set(['a']));
});

test('a filter that throws or rejects has seen nothing', async () => {
  const rejecting: SeenFilter = {
    seen: () => Promise.reject(new Error('no')),
    add: () => Promise.reject(new Error('no')),
    close: async () => {},
  };
  const throwing: SeenFilter = {
    seen: () => {
      throw new Error('no');
    },
    add: () => {
      throw new Error('no');
    },
    close: async () => {},
  };

  for (const broken of [rejecting, throwing]) {
    const filter = filterInEpoch(broken, 'e');
    await expect(filter.add('web', ['a'])).resolves.toBeUndefined();
    expect(await filter.seen('web', ['a'])).toEqual(new Set());
  }
});

test('an id that was not requested is not passed on', async () => {
  const inventing: SeenFilter = {
    seen: async () => new Set(['a', 'invented']),
    add: async () => {},
    close: async () => {},
  };

  expect(await filterInEpoch(inventing, 'e').seen('web', ['a', 'b'])).toEqual(new Set(['a']));
});

test('without ids nothing is asked', async () => {
  const { filter, state } = remembering();
  const own = filterInEpoch(filter, 'e');

  await own.add('web', []);
  expect(await own.seen('web', [])).toEqual(new Set());
  expect(state.calls).toBe(0);
});

test('closing closes the filter', async () => {
  const { filter, state } = remembering();
  await filterInEpoch(filter, 'e').close();

  expect(state.closed).toBe(1);
});
