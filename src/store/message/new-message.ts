import type { OutboxErrorCode } from '../../core/errors.ts';
import type { State } from '../../core/transitions.ts';

/** A message on its way into the table. */
export interface NewMessage {
  readonly payload: string;
  readonly key?: string;
  readonly ref?: string;
  readonly id?: string;
  /** With `id`: it was made so that no other installation has it. */
  readonly unique?: true;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set by SQL callers only. */
  readonly contentType?: string;
  readonly afterMs?: number;
  /** ISO time. */
  readonly at?: string;
  /** Milliseconds from the send to its expiry. */
  readonly expiresAfterMs?: number;
  /** ISO time. */
  readonly expiresAt?: string;
  /** For a single message with a ref. */
  readonly replace?: true;
  /** With `replace`: the due time of the waiting message stays. */
  readonly keepDue?: true;
  /** With `replace`: it is due at most this long after its first due time, in milliseconds. */
  readonly atMostMs?: number;
}

/** The database's answer about one message: stored, or refused. */
export interface StoreAnswer {
  /** 1 for the first message of the call. */
  readonly n: number;
  readonly id: string;
  readonly workflowId: string;
  readonly state: State;
  readonly dueAt: Date | null;
  readonly duplicate: boolean;
  /** No relay has announced the topic to this database. */
  readonly unannounced: boolean;
  readonly refusal: StoreRefusal | null;
}

/** Why a message was not stored. */
export interface StoreRefusal {
  readonly code: OutboxErrorCode;
  readonly message: string;
  readonly details?: Record<string, unknown>;
}
