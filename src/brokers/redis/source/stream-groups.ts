import { OutboxError } from '../../../core/errors.ts';
import type { BrokerGroups, TidiedGroup } from '../../capabilities.ts';
import { refusalOf } from '../client/error-reply.ts';
import { type RedisLink, redisUnavailable } from '../client/redis-link.ts';
import type { RedisServer } from '../client/redis-server.ts';
import { groupAt, groupNames, makeGroup } from './group-names.ts';
import { tidyGroup } from './tidy-group.ts';

/** The groups of streams. A missing stream is created with its first group, as it is by the first entry. */
export function streamGroups(server: RedisServer, link: RedisLink): BrokerGroups {
  return {
    async missing(group, addresses) {
      const missing: string[] = [];
      for (const address of addresses) {
        const names = await link.ask((client) => groupNames(client, address)).catch(refuse(address));
        if (!names.includes(group)) missing.push(groupAt(group, address));
      }
      return missing;
    },
    async create(group, addresses) {
      const created: string[] = [];
      for (const address of addresses) {
        const what = groupAt(group, address);
        const made = await link
          .ask((client) => makeGroup(client, { address, group, from: '0' }))
          .catch(refuse(what));
        if (made) created.push(what);
      }
      return created;
    },
    async tidy(address, how) {
      const { groups: wanted } = how;
      const names = await link.ask((client) => groupNames(client, address)).catch(refuse(address));
      const groups = wanted === undefined ? names : names.filter((name) => wanted.includes(name));
      const found: TidiedGroup[] = [];
      for (const group of groups)
        found.push(
          await link
            .ask((client) => tidyGroup(client, { address, group, ...how }))
            .catch(refuse(groupAt(group, address))),
        );
      return found;
    },
  };

  /** For `catch`: throws what the reply means for the named thing. */
  function refuse(what: string): (error: unknown) => never {
    return (error) => {
      const reply = refusalOf(error);
      const rest = { cause: error, details: { what, server: server.endpoint } };
      if (reply?.startsWith('NOPERM') === true)
        throw new OutboxError(
          'OUTBOX_PRIVILEGE_MISSING',
          `Redis at ${server.endpoint} does not let this user look at, create or remove ${what}: ${reply}`,
          rest,
        );
      if (reply?.startsWith('WRONGTYPE') === true)
        throw new OutboxError(
          'OUTBOX_ADDRESS_UNFIT',
          `Redis at ${server.endpoint} has a key of another type in the place of ${what}: ${reply}`,
          rest,
        );
      link.renew();
      throw redisUnavailable(server, error);
    };
  }
}
