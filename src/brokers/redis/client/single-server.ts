import { OutboxError } from '../../../core/errors.ts';
import { ifRefused } from './error-reply.ts';
import type { RedisClient } from './open-client.ts';
import { infoOf } from './server-version.ts';

/** Why a server that runs in this mode cannot be used. */
const unfit: Readonly<Record<string, string>> = {
  cluster:
    'is a node of a Redis Cluster. It has some of the addresses only, and a script may not use an address together with the lease of its reader. Use a Redis that is not a cluster, with replicas if it must not fail.',
  sentinel:
    'is a Sentinel, which keeps no messages. Ask it for the primary, and give a function as url that returns the address of the primary.',
};

/**
 * To be asked on a new connection. A user who may not use INFO is believed.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNFIT`
 */
export async function requireSingleServer(client: RedisClient, endpoint: string): Promise<void> {
  const none: ReadonlyMap<string, string> = new Map();
  const fields = await infoOf(client, 'server').catch(ifRefused(none));
  const mode = fields.get('redis_mode') ?? fields.get('server_mode') ?? '';
  const why = unfit[mode];
  if (why === undefined) return;
  throw new OutboxError('OUTBOX_SERVER_UNFIT', `Redis at ${endpoint} ${why}`, {
    details: { server: endpoint, mode },
  });
}
