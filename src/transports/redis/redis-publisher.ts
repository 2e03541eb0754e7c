import { RedisLink, redisUnavailable } from '../../redis/redis-link.ts';
import { serverOf } from '../../redis/server-version.ts';
import type { Transport } from '../transport.ts';
import { type Probe, probeAddress } from './probe.ts';
import { type ChunkWay, publishChunks } from './publish-chunks.ts';
import type { RedisSettings } from './redis-options.ts';

/** What differs between the Redis transports. */
export interface PublisherParts {
  readonly name: string;
  readonly way: ChunkWay;
  readonly probeOf: (address: string) => Probe;
}

/** A transport with one connection: opened at the first batch, kept open, and replaced after a hold. */
export function redisPublisher(
  { server, requestTimeoutMs }: RedisSettings,
  { name, way, probeOf }: PublisherParts,
): Transport {
  const link = new RedisLink(server, requestTimeoutMs);
  return {
    name,
    get endpoint() {
      return server.endpoint;
    },
    publish: (batch) => publishChunks(link, way, batch),
    async probe(address) {
      try {
        await link.ask((client) => probeAddress(client, address, probeOf(address)));
      } catch (cause) {
        link.renew();
        throw redisUnavailable(server, cause);
      }
    },
    server: () => link.ask(serverOf),
    async close() {
      link.close();
    },
  };
}
