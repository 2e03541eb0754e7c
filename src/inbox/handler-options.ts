import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import type { MessageIdRule } from './reading/message-id.ts';
import { quickRetryDelays, retryDelays } from './retry-delays.ts';

/** How the messages of one topic are read, and tried again. */
export interface HandlerOptions {
  /** What tells the id of a message that no outbox has sent. @defaultValue the header `ce_id` */
  readonly id?: MessageIdRule;
  /**
   * Delays before a parked message of this topic is tried again, at most 100 of 0 to 36,500 days each; when they are used up
   * it is failed, at once where there are none. They hold on whatever consumer tries it: on each those that it names itself.
   * @defaultValue those of the consumer
   */
  readonly retry?: readonly Duration[];
  /**
   * Pauses before a failed message of this topic is tried again in place, at most 100 of 0 to 10 s each; then it is parked.
   * @defaultValue those of the consumer
   */
  readonly quickRetries?: readonly Duration[];
}

/** The options of a handler, checked. `undefined`: as its consumer has it. */
export interface HandlerRules {
  readonly id?: MessageIdRule | undefined;
  readonly retryMs?: readonly number[] | undefined;
  readonly quickRetriesMs?: readonly number[] | undefined;
}

const names: ReadonlySet<string> = new Set<keyof HandlerOptions>(['id', 'retry', 'quickRetries']);

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option: a misspelt one would be a rule that does nothing */
export function resolveHandlerRules(topic: string, options: HandlerOptions): HandlerRules {
  const refuse = (option: string, wanted: string): OutboxError =>
    new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `The option "${option}" of the handler of "${topic}" is not ${wanted}.`,
      { details: { option, topic } },
    );
  const unknown = Object.keys(options).find((option) => !names.has(option));
  if (unknown !== undefined) throw refuse(unknown, 'an option that there is');
  const { id, quickRetries, retry } = options;
  return {
    id,
    retryMs: retry === undefined ? undefined : retryDelays(retry, refuse),
    quickRetriesMs: quickRetries === undefined ? undefined : quickRetryDelays(quickRetries, refuse),
  };
}
