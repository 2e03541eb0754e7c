import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import type { MessageIdRule } from './reading/message-id.ts';
import { quickRetryDelays, retryDelays } from './retry-delays.ts';

/** How the messages of one topic are read and retried. */
export interface HandlerOptions {
  /** Where the id comes from of a message that was not sent by an outbox. @defaultValue `ce_id`, with `ce_source` */
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

const names: ReadonlySet<string> = new Set<keyof HandlerOptions>(['id', 'retry', 'quickRetries']);

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option: a misspelt one would have no effect */
export function resolveHandlerRules(topic: string, options: HandlerOptions): HandlerRules {
  const refuse = (option: string, wanted: string): OutboxError =>
    new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `The option "${option}" of the handler of "${topic}" is not ${wanted}.`,
      { details: { option, topic } },
    );
  const unknown = Object.keys(options).find((option) => !names.has(option));
  if (unknown !== undefined) throw refuse(unknown, 'a known option');
  const { id, quickRetries, retry } = options;
  return {
    id,
    retryMs: retry === undefined ? undefined : retryDelays(retry, refuse),
    quickRetriesMs: quickRetries === undefined ? undefined : quickRetryDelays(quickRetries, refuse),
  };
}
