import { OutboxError } from '../../../core/errors.ts';
import { joinInTime } from '../../join-in-time.ts';
import type { Source, Subscribed, Subscription } from '../../source.ts';
import type { RocketmqConnection } from '../client/connection.ts';
import { Proxies } from '../client/proxies.ts';
import { routesOf } from './membership.ts';
import { RocketmqSession } from './rocketmq-session.ts';

/** How often routes are checked, as in RocketMQ's own clients. */
const lookEveryMs = 30_000;

/**
 * Receives from topics of RocketMQ 5 through its proxies, as a member of a consumer group, which must exist.
 *
 * A received message is invisible to other members for a time, which is renewed while it is held, and is acknowledged
 * after its effects. A rejected message stays here until it is offered again, so that it does not count as a delivery; the
 * messages of a dead consumer are delivered again when their time is over. A group with order (`-o true`) gets each queue
 * in order, one member at a time; FIFO topics require such a group.
 *
 * Proxies do not report offsets: the lag is unknown, and the broker decides where a new group begins.
 */
export function rocketmqSource(connection: RocketmqConnection, everyMs = lookEveryMs): Source {
  return {
    name: 'rocketmq',
    redeliveryPeriodMs: (addresses) => redeliveryPeriodMs(connection, addresses),
    subscribe: (subscription) => subscribe(connection, subscription, everyMs),
  };
}

/** Checks the addresses. Acknowledged messages are not delivered to the group again, unless its offsets are reset. */
async function redeliveryPeriodMs(
  connection: RocketmqConnection,
  addresses: readonly string[],
): Promise<number> {
  const proxies = new Proxies(connection);
  try {
    await routesOf(proxies, addresses);
    return 0;
  } finally {
    proxies.close();
  }
}

async function subscribe(
  connection: RocketmqConnection,
  subscription: Subscription,
  everyMs: number,
): Promise<Subscribed> {
  const { fromBeginning, group } = subscription;
  if (!fromBeginning) throw startUnknown(group);
  const session = new RocketmqSession(connection, subscription, everyMs);
  await joinInTime(session, subscription, () => connection.servers.join(','));
  return { lag: () => Promise.reject(lagUnknown(group)), stop: () => session.stop() };
}

function startUnknown(group: string): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `RocketMQ's proxies cannot tell the group ${group} to begin with what arrives from now on: set its offsets with mqadmin resetOffsetByTime, and \`fromBeginning\` to true.`,
    { details: { option: 'fromBeginning', group } },
  );
}

function lagUnknown(group: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SERVER_REFUSED',
    `RocketMQ's proxies do not tell how far the group ${group} is behind: ask the broker with mqadmin consumerProgress.`,
    { details: { group } },
  );
}
