/**
 * The state of a message. A `ready` message that its lane's cursor has passed is `published` everywhere but in the table.
 *
 * - `waiting`: not due yet.
 * - `ready`: to be sent by its lane now.
 * - `blocked`: behind a retrying or failed message of its key.
 * - `retrying`: its last try failed; it waits for the next one.
 * - `published`: the broker has acknowledged it. `confirmed`: its receipt has arrived, too.
 * - `failed`: no further try; a person decides.
 * - `canceled`: it is never sent.
 * - `superseded`: an edited copy took its place. `discarded`: a person ended it.
 * - `expired`: it was not published before its expiry, and is not sent.
 */
export type State =
  | 'waiting'
  | 'ready'
  | 'blocked'
  | 'retrying'
  | 'published'
  | 'confirmed'
  | 'failed'
  | 'canceled'
  | 'superseded'
  | 'discarded'
  | 'expired';

/** Every {@link State}. */
export const states = [
  'waiting',
  'ready',
  'blocked',
  'retrying',
  'published',
  'confirmed',
  'failed',
  'canceled',
  'superseded',
  'discarded',
  'expired',
] as const satisfies readonly State[];

/** One legal change of state. Every one is a compare-and-set on `from`. */
export interface Transition {
  readonly from: State;
  readonly to: State;
  /** What causes it. */
  readonly by: string;
}

/**
 * Every legal change of state. The database refuses all others (trigger `message_transition`), and a test compares the
 * trigger with this table. A message begins as `ready`, or as `waiting` when it is due later.
 */
export const transitions: readonly Transition[] = [
  { from: 'waiting', to: 'ready', by: 'due: its workflow or the sweep' },
  { from: 'waiting', to: 'canceled', by: 'cancel' },
  { from: 'ready', to: 'published', by: 'settle, where the row says so itself' },
  { from: 'ready', to: 'retrying', by: 'settle: rejected or ambiguous' },
  { from: 'ready', to: 'blocked', by: 'settle: behind a retrying or failed message of its key' },
  { from: 'ready', to: 'failed', by: 'settle: permanent, or attempts exhausted' },
  { from: 'ready', to: 'confirmed', by: 'receipt before the settle' },
  { from: 'ready', to: 'canceled', by: 'withdraw by an operator' },
  { from: 'ready', to: 'expired', by: 'settle: its expiry had passed at the claim' },
  { from: 'blocked', to: 'ready', by: 'its key is free again' },
  { from: 'blocked', to: 'canceled', by: 'cancel' },
  { from: 'blocked', to: 'expired', by: 'a relay, at its expiry' },
  { from: 'retrying', to: 'ready', by: 'due again, or an operator' },
  { from: 'retrying', to: 'failed', by: 'an operator gives up' },
  { from: 'retrying', to: 'confirmed', by: 'receipt of an ambiguous send' },
  { from: 'retrying', to: 'canceled', by: 'cancel' },
  { from: 'published', to: 'ready', by: 'resend without receipt' },
  { from: 'published', to: 'failed', by: 'sends exhausted without receipt' },
  { from: 'published', to: 'confirmed', by: 'receipt' },
  { from: 'failed', to: 'ready', by: 'retry by an operator' },
  { from: 'failed', to: 'confirmed', by: 'late receipt' },
  { from: 'failed', to: 'superseded', by: 'edit by an operator' },
  { from: 'failed', to: 'discarded', by: 'discard by an operator' },
  { from: 'expired', to: 'confirmed', by: 'late receipt' },
];

/** Final states: a message leaves them only by an operator's action, if at all. */
export const finalStates: ReadonlySet<State> = new Set([
  'published',
  'confirmed',
  'failed',
  'canceled',
  'superseded',
  'discarded',
  'expired',
]);
