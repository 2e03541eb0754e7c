import type { Destination } from './destination.ts';
import { emailDestination } from './email.ts';
import type { SettledDestinations } from './settings.ts';
import { webhookDestination } from './webhook.ts';

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
