/** How a consumer's queues are named, made and read. */
export interface QueueRules {
  /** Whether queues and bindings are declared. */
  readonly declare: boolean;
  /** Whether only one consumer of a group receives at a time. */
  readonly order: boolean;
  readonly deliveryLimit: number | undefined;
  readonly deadLetterExchange: string | undefined;
  name(address: string, group: string): string;
  bindingKeys(address: string): readonly string[];
}
