import type { RelayConfig } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import { reasonOf } from '../../core/reason.ts';
import { destinationsOf } from '../../watch/destinations.ts';
import { testMessage } from '../../watch/message.ts';
import { alertOptions } from '../../watch/settings.ts';
import { installationInWords } from '../installation-in-words.ts';

/** What became of a test alert. */
export interface TestedDestination {
  /** `webhook` or `email` */
  readonly name: string;
  /** Why it did not accept it; `null`: it did. */
  readonly error: string | null;
}

/**
 * Sends a test alert to every destination of a configuration, from this process and without the database.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID`, `OUTBOX_PACKAGE_MISSING`
 */
export async function testAlerts(config: RelayConfig): Promise<readonly TestedDestination[]> {
  const { to } = readConfig(alertOptions, config.alerts ?? {}, 'alerts');
  const message = testMessage(installationInWords(config), new Date());
  const { signal } = new AbortController();
  return Promise.all(
    destinationsOf(to).map(async (destination) => {
      const error = await destination.tell(message, signal).then(() => null, reasonOf);
      return { name: destination.name, error };
    }),
  );
}
