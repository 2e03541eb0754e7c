import type { OutboxError } from '../core/errors.ts';

/** A request that its caller may not make. The audit says why; the answer may not. */
export class Denied extends Error {
  override readonly name = 'Denied';
  /** The error that the caller gets. */
  readonly told: OutboxError;
  readonly topic: string | null;

  /** @param why for the audit, such as `role` */
  constructor(why: string, told: OutboxError, topic: string | null = null) {
    super(why);
    this.told = told;
    this.topic = topic;
  }
}
