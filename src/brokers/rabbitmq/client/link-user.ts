import type { Link } from './link.ts';

/** Whoever has a connection for short questions. */
export interface LinkUser {
  /** Runs `work` with the current connection. Throws if none can be opened. */
  use<T>(work: (link: Link) => Promise<T>): Promise<T>;
}
