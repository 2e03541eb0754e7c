import type { ConnectionOptions } from 'node:tls';

/** The user that signs requests to proxies and brokers. */
export interface AccessKey {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** How to reach RocketMQ, validated and with defaults. Options given as functions are called on every read. */
export interface RocketmqConnection {
  /** `host:port` of one proxy or more. */
  readonly servers: readonly string[];
  /** `host:port` of one name server or more; `undefined`: none is given. */
  readonly nameServers: readonly string[] | undefined;
  readonly tls: boolean | ConnectionOptions;
  /** The same for name servers and brokers. */
  readonly brokerTls: boolean | ConnectionOptions;
  readonly credentials: AccessKey | undefined;
  /** Empty if there is none. */
  readonly namespace: string;
  /** How long a proxy may take to answer. */
  readonly requestTimeoutMs: number;
  /** How long a received message stays with its consumer without a renewal. */
  readonly invisibleMs: number;
  /** Maps the endpoint of a proxy to the address to connect to, for fault proxies in tests. @defaultValue the endpoint */
  readonly through?: (endpoint: string) => string;
}
