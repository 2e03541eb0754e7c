import { emailDestination } from './email.ts';
import type { AlertMessage } from './message.ts';
import type { SettledDestinations } from './settings.ts';
import { webhookDestination } from './webhook.ts';

/** Where alerts are told. */
export interface Destination {
  readonly name: 'webhook' | 'email';
  /** Resolves once it is accepted. Rejects if it is not, after half a minute at the latest. */
  tell(message: AlertMessage, signal: AbortSignal): Promise<void>;
}

/**
 * The destinations of the settings.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING` without the packages that they need
 */
export function destinationsOf({ email, webhook }: SettledDestinations): readonly Destination[] {
  return [
    ...(webhook === undefined ? [] : [webhookDestination(webhook)]),
    ...(email === undefined ? [] : [emailDestination(email)]),
  ];
}
