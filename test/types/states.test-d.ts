import { expectTypeOf, test } from 'vitest';
import type { KeptState, keptStates } from '../../src/core/parked-states.ts';
import type { State, states } from '../../src/core/transitions.ts';

test('the lists of states name every state', () => {
  expectTypeOf<(typeof states)[number]>().toEqualTypeOf<State>();
  expectTypeOf<(typeof keptStates)[number]>().toEqualTypeOf<KeptState>();
});
