import type { BrokerOffsets, CommittedLag } from '../../capabilities.ts';
import { refusalOf } from '../client/error-reply.ts';
import type { RedisClient } from '../client/open-client.ts';
import { type RedisLink, redisUnavailable } from '../client/redis-link.ts';
import type { RedisServer } from '../client/redis-server.ts';
import { groupNames } from './group-names.ts';
import { lagScript, openIdScript } from './stream-scripts.ts';

/**
 * How far the groups of streams are. A stream is the partition 0, and its offsets are the ids of its entries, as numbers. A
 * group has come to its oldest entry that is not acknowledged, or has passed the last one that was delivered to it.
 */
export function streamOffsets(server: RedisServer, link: RedisLink): BrokerOffsets {
  const ask = <Answer>(question: (client: RedisClient) => Promise<Answer>): Promise<Answer> =>
    link.ask(question).catch((error: unknown) => {
      // A server that has answered is there.
      if (refusalOf(error) === undefined) link.renew();
      throw redisUnavailable(server, error);
    });
  return {
    async committed(group, address) {
      const [open = '', passed = ''] = await ask((client) =>
        client.sendCommand<string[]>(['EVAL', openIdScript, '1', address, group]),
      );
      if (open !== '') return new Map([[0, String(numberOf(open))]]);
      return passed === '' ? new Map() : new Map([[0, String(numberOf(passed) + 1n)]]);
    },
    async ends(address) {
      const [last] = (await ask((client) => client.xRevRange(address, '+', '-', { COUNT: 1 }))) ?? [];
      return last === undefined ? new Map() : new Map([[0, String(numberOf(last.id) + 1n)]]);
    },
    async lags(groups, addresses) {
      const lags: CommittedLag[] = [];
      for (const address of addresses) {
        const there = await ask((client) => groupNames(client, address));
        for (const group of groups.filter((one) => there.includes(one))) {
          const messages = await ask((client) =>
            client.sendCommand<number>(['EVAL', lagScript, '1', address, group]),
          );
          lags.push({ group, address, messages });
        }
      }
      return lags;
    },
  };
}

/** An id, milliseconds and a number within them, as one number: both parts have 64 bits. */
function numberOf(id: string): bigint {
  const [ms = '0', n = '0'] = id.split('-');
  return (BigInt(ms) << 64n) + BigInt(n);
}
