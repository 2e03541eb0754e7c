import type { Duration } from '../core/duration.ts';
import type { Table } from '../core/options/collections.ts';
import { optionTable } from '../core/options/option-table.ts';
import { optional, unchecked } from '../core/options/values.ts';
import type { MessageIdRule } from './reading/message-id.ts';
import { quickRetryDelays, retryDelays } from './retry-delays.ts';

/** How the messages of one topic are read and retried. */
export interface HandlerOptions {
  /** Source of the id of a message that was not sent by an outbox. @defaultValue `ce_id`, with `ce_source` */
  readonly id?: MessageIdRule;
  /**
   * Delays before a parked message of this topic is tried again, at most 100 of 0 to 36,500 days each; when they are used up
   * it is failed, at once if the list is empty. The consumer that tries the message applies its own list.
   * @defaultValue the consumer's
   */
  readonly retry?: readonly Duration[];
  /**
   * Pauses before a failed message of this topic is tried again in place, at most 100 of 0 to 10 s each; then it is parked.
   * @defaultValue the consumer's
   */
  readonly quickRetries?: readonly Duration[];
}

/** The options of a handler, checked. `undefined`: the consumer's. */
export interface HandlerRules {
  readonly id?: MessageIdRule | undefined;
  readonly retryMs?: readonly number[] | undefined;
  readonly quickRetriesMs?: readonly number[] | undefined;
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option: a misspelt one would have no effect */
export function resolveHandlerRules(topic: string, options: HandlerOptions): HandlerRules {
  const { quickRetries, retry } = optionTable(
    `the handler of "${topic}"`,
    {
      // Checked with the topic.
      id: unchecked,
      retry: optional(retryDelays),
      quickRetries: optional(quickRetryDelays),
    } satisfies Table<HandlerOptions>,
    { topic },
  ).read(options);
  return { id: options.id, retryMs: retry, quickRetriesMs: quickRetries };
}
