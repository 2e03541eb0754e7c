/** Where a broker listens. */
export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
}

/** Where to connect instead; tests put themselves between a client and its brokers. */
export type Reach = (broker: BrokerAddress) => BrokerAddress | Promise<BrokerAddress>;

/** `host:port` */
export function writeBroker({ host, port }: BrokerAddress): string {
  return `${host}:${port}`;
}

/** Reads `host:port`. */
export function readBroker(broker: string): BrokerAddress {
  const colon = broker.lastIndexOf(':');
  return { host: broker.slice(0, colon), port: Number(broker.slice(colon + 1)) };
}
