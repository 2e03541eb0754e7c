import type { DatabaseConfig } from '../../config/database-config.ts';
import {
  type ApiSessionKey,
  type ApiSessionTimes,
  beginApiSession,
  endApiSession,
  noteSignInDenied,
  type SignedIn,
  useApiSession,
} from '../../store/request/api-session.ts';
import { proofDatabase } from './proof-database.ts';

export type { ApiSessionTimes, SignedIn };

/** Who has signed in to the HTTP API, shared by all its processes. Every call may reject with `OUTBOX_SERVER_UNAVAILABLE`. */
export interface ApiSessions {
  /** @param replaced hash of the id that the browser had before: that session ends */
  begin(idHash: string, person: SignedIn, replaced: string | undefined): Promise<void>;
  /** Who it is; nothing if it is unknown or has ended. */
  use(idHash: string): Promise<SignedIn | undefined>;
  end(idHash: string): Promise<void>;
  /** Notes that a person without rights wanted to sign in. */
  noteDenied(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens them; connections are opened when first needed.
 *
 * @param provider only sessions of this one are found
 */
export function apiSessions(
  config: DatabaseConfig,
  provider: () => string,
  times: ApiSessionTimes,
  statementMs?: number,
): ApiSessions {
  const proofs = proofDatabase(config, statementMs);
  const keyOf = (idHash: string): ApiSessionKey => ({ idHash, provider: provider() });
  return {
    begin: (idHash, person, replaced) =>
      proofs.on((at) => beginApiSession(at, keyOf(idHash), person, times, replaced)),
    use: (idHash) => proofs.on((at) => useApiSession(at, keyOf(idHash), times)),
    end: (idHash) => proofs.on((at) => endApiSession(at, keyOf(idHash))),
    noteDenied: (name) => proofs.on((at) => noteSignInDenied(at, name)),
    close: () => proofs.close(),
  };
}
