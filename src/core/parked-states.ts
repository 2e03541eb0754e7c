/**
 * The state of a message that a consumer keeps. A handled one is no longer kept: only its id stays.
 *
 * - `parked`: to be tried again, or behind an earlier message of its key.
 * - `failed`: no further try; a person decides.
 * - `superseded`: an edited copy took its place. `discarded`: a person ended it.
 */
export type KeptState = 'parked' | 'failed' | 'superseded' | 'discarded';

/** Every {@link KeptState}. */
export const keptStates = [
  'parked',
  'failed',
  'superseded',
  'discarded',
] as const satisfies readonly KeptState[];

/** One legal change of state of a kept message. Every one is a compare-and-set on `from`. */
export interface KeptTransition {
  readonly from: KeptState;
  readonly to: KeptState;
  /** What causes it. */
  readonly by: string;
}

/**
 * Every legal change of state of a kept message. The database refuses all others (trigger `parked_transition`), and a test
 * holds the trigger against this table. It begins as `parked`, or as `failed` when no try can help; a parked one whose
 * try succeeds is deleted with the effects of the try.
 */
export const keptTransitions: readonly KeptTransition[] = [
  { from: 'parked', to: 'failed', by: 'its tries are used up, or no further one can help' },
  { from: 'parked', to: 'superseded', by: 'edit by an operator' },
  { from: 'parked', to: 'discarded', by: 'discard by an operator' },
  { from: 'failed', to: 'parked', by: 'retry by an operator' },
  { from: 'failed', to: 'superseded', by: 'edit by an operator' },
  { from: 'failed', to: 'discarded', by: 'discard by an operator' },
];

/** States in which a message waits; all others are final. */
export const openKeptStates = ['parked', 'failed'] as const satisfies readonly KeptState[];
