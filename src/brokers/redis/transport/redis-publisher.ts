import type { Transport } from '../../transport.ts';
import { durabilityOf, type RedisDurability } from '../client/durability.ts';
import { RedisLink, redisUnavailable } from '../client/redis-link.ts';
import { serverOf } from '../client/server-version.ts';
import { type Probe, probeAddress } from './probe.ts';
import { type ChunkWay, publishChunks } from './publish-chunks.ts';
import type { RedisSettings } from './redis-options.ts';

/** What differs between the Redis transports. */
export interface PublisherParts {
  readonly name: string;
  readonly way: ChunkWay;
  readonly probeOf: (address: string) => Probe;
}

/** A transport that can say what its server keeps. */
export interface RedisTransport extends Transport {
  readonly endpoint: string;
  durability(): Promise<RedisDurability>;
}

/** True for transports of Redis whose messages the server keeps: streams and lists. */
export function isRedisQueue(transport: Transport): transport is RedisTransport {
  return /^redis-(?:stream|list)$/.test(transport.name) && 'durability' in transport;
}

/** A transport with one connection: opened at the first batch, kept open, and replaced after a hold. */
export function redisPublisher(
  { server, requestTimeoutMs }: RedisSettings,
  { name, way, probeOf }: PublisherParts,
): RedisTransport {
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
    durability: () => link.ask(durabilityOf),
    async close() {
      link.close();
    },
  };
}
