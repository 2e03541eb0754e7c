import type { Source } from '../brokers/source.ts';
import type { ContractCase } from './contract-subject.ts';

/**
 * What some brokers have and others do not; cases that need what is missing are skipped.
 *
 * - `order`: a partition is given to one member of a group at a time, and its messages arrive in their order
 * - `partitions`: an address has two partitions or more, each with its own flow
 * - `history`: a group that is new can begin with messages that were sent before it
 * - `groups`: several groups each receive everything, and one that is new can begin with what arrives from now on
 * - `empty-body`: a message without a body differs from one whose body is empty
 */
export type SourceAbility = 'order' | 'partitions' | 'history' | 'groups' | 'empty-body';

/** A message for the broker. */
export interface SourceMessage {
  /** 0 where the broker has no partitions. */
  readonly partition: number;
  /** Its key; `null`: it has none. */
  readonly key: string | null;
  /** A text that is sent as UTF-8; `null`: it has no body. */
  readonly body: string | null;
  /** Headers by name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What one case of the suite runs on. */
export interface SourceSubject {
  /** The source under test. */
  readonly source: Source;
  /** Two addresses that nobody else uses, and that are empty. */
  readonly addresses: readonly [string, string];
  /** Partitions of each address; 1 where the broker has none. */
  readonly partitions: number;
  /** Sends in this order; resolves when the broker has all of them. */
  send(address: string, messages: readonly SourceMessage[]): Promise<void>;
  /** Releases what was opened. The suite has stopped its subscriptions by then. */
  dispose(): Promise<void>;
}

/** A rule that does not apply to this source. */
export interface SkippedCase {
  /** The sentence of the case, as in {@link ContractCase}. */
  readonly name: string;
  /** The missing abilities. */
  readonly missing: readonly SourceAbility[];
}

/** The rules of the port for one source. */
export interface SourceContract {
  /** Rules that apply to this source. */
  readonly cases: readonly ContractCase[];
  /** Rules that do not. */
  readonly skipped: readonly SkippedCase[];
}
