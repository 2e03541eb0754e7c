import type { DatabaseConfig } from '../../config/database-config.ts';
import { beginSignInTry, endSignInTry, type SignInTry } from '../../store/request/sign-in-try.ts';
import { proofDatabase } from './proof-database.ts';

/** Wrong tries to sign in within the last minute, counted for all processes. Every call may reject with `OUTBOX_SERVER_UNAVAILABLE`. */
export interface SignInTries {
  /**
   * Begins a try, which counts as wrong until it has proved right.
   *
   * @returns what to call once it was right; nothing if there have been too many
   */
  begin(all: readonly SignInTry[]): Promise<(() => Promise<void>) | undefined>;
  close(): Promise<void>;
}

/** Opens them; connections are opened when first needed. */
export function signInTries(config: DatabaseConfig, statementMs?: number): SignInTries {
  const proofs = proofDatabase(config, statementMs);
  return {
    async begin(all) {
      const ids = await proofs.on((at) => beginSignInTry(at, all));
      return ids && (() => proofs.on((at) => endSignInTry(at, ids)));
    },
    close: () => proofs.close(),
  };
}
