import type { Database } from '../store/database/database.ts';
import type { SettledChange } from '../store/lane/settle.ts';
import { expireBlocked, readExpired } from '../store/message/expire.ts';
import { coalesce } from './coalesce.ts';
import type { RelayReport } from './report.ts';

const messagesAtOnce = 1_000;

/** Ends blocked messages at their expiry. Those in other states are ended by their lane, when it claims them. */
export class Expiry {
  readonly #database: Database;
  readonly #report: RelayReport;
  #stopped = false;

  constructor(database: Database, report: RelayReport) {
    this.#database = database;
    this.#report = report;
  }

  readonly check = coalesce(() => this.#checkOnce());

  /** Begins nothing new, and waits for what has begun. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.check();
  }

  async #checkOnce(): Promise<void> {
    try {
      for (let full = true; full && !this.#stopped; ) {
        const expired = await expireBlocked(this.#database, messagesAtOnce);
        for (const message of expired) this.#report({ type: 'expired', ...message });
        full = expired.length === messagesAtOnce;
      }
    } catch (error) {
      this.#report({ type: 'error', during: 'expiry', error });
    }
  }
}

/** Reports the messages that a settle has ended, as their rows say. Not repeated: a relay that dies before does not report them. */
export async function tellExpired(
  { database, report }: { readonly database: Database; readonly report: RelayReport },
  changes: readonly SettledChange[],
): Promise<void> {
  const ids = changes.filter(({ to }) => to === 'expired').map(({ id }) => id);
  if (ids.length === 0) return;
  try {
    for (const message of await readExpired(database, ids)) report({ type: 'expired', ...message });
  } catch (error) {
    report({ type: 'error', during: 'tell', error });
  }
}
