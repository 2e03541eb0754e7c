import type { KeptState, KeptTransition } from '../src/core/parked-states.ts';
import type { State, Transition } from '../src/core/transitions.ts';

interface Outbox {
  readonly states: readonly State[];
  readonly transitions: readonly Transition[];
}
interface Kept {
  readonly keptStates: readonly KeptState[];
  readonly keptTransitions: readonly KeptTransition[];
}

export function statesPage(tables: Outbox & Kept): string;
export function outboxPart(tables: Outbox): string;
export function keptPart(tables: Kept): string;
export function transitionGuard(states: readonly State[], transitions: readonly Transition[]): string;
