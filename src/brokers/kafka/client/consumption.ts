/** How consumers take part in their group, and how much they fetch. */
export interface KafkaConsumption {
  /** A member without a heartbeat for this long leaves its group. */
  readonly sessionTimeoutMs: number;
  /** A handler that runs longer than this through a rebalance loses its partition; the inbox drops what is done twice. */
  readonly rebalanceTimeoutMs: number;
  /** Of one answer of a broker. */
  readonly maxFetchBytes: number;
  /** Of one partition in such an answer; `undefined`: by how many messages the consumer takes at once. */
  readonly maxPartitionBytes: number | undefined;
}

export const defaultConsumption: KafkaConsumption = {
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 60_000,
  maxFetchBytes: 10 * 1024 * 1024,
  maxPartitionBytes: undefined,
};
