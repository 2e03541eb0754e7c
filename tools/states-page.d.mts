import type { State, Transition } from '../src/core/transitions.ts';

export function statesPage(states: readonly State[], transitions: readonly Transition[]): string;
export function transitionGuard(states: readonly State[], transitions: readonly Transition[]): string;
