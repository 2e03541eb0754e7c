import type { AlertMessage } from './message.ts';

/** Where alerts are sent. */
export interface Destination {
  readonly name: 'webhook' | 'email';
  /** Resolves once it is accepted. Rejects if it is not, after half a minute at the latest. */
  tell(message: AlertMessage, signal: AbortSignal): Promise<void>;
}
