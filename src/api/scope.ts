import { OutboxError } from '../core/errors.ts';
import type { Caller } from './authentication.ts';
import { Denied } from './denied.ts';

/** The topics to which a caller is limited, and whether it may read payloads. What is not of these topics does not exist for it. */
export class Scope {
  readonly #topics: ReadonlySet<string> | undefined;
  readonly #payloads: boolean;

  constructor({ payloads, topics }: Pick<Caller, 'payloads' | 'topics'>) {
    this.#topics = topics && new Set(topics);
    this.#payloads = payloads;
  }

  /** Those that it sees; `undefined`: all. */
  get topics(): readonly string[] | undefined {
    return this.#topics && [...this.#topics];
  }

  /** True if there are topics that it does not see. */
  get limited(): boolean {
    return this.#topics !== undefined;
  }

  sees(topic: string | null | undefined): boolean {
    return this.#topics === undefined || (typeof topic === 'string' && this.#topics.has(topic));
  }

  /**
   * @param topic `null`: what is of no single topic; `undefined`: there is no such thing, which is not to be in the audit
   * @param unknown the error for what does not exist, which is the answer for what is of another topic, too
   * @throws Denied, OutboxError
   */
  require(topic: string | null | undefined, unknown: OutboxError): void {
    if (topic === undefined && this.limited) throw unknown;
    if (!this.sees(topic)) throw new Denied('topic', unknown, topic);
  }

  /** @throws Denied for callers that are limited: what is asked for is of all topics */
  requireAll(): void {
    if (this.limited)
      throw new Denied(
        'all-topics',
        new OutboxError('OUTBOX_REQUEST_DENIED', 'Only for callers that are not limited to topics.'),
      );
  }

  /**
   * A filter within the limit. A caller of one topic need not name it.
   *
   * @throws Denied for another topic, and for a part of an error text, which who may not read it would find by trying; OutboxError
   * `OUTBOX_REQUEST_INVALID` if one of several topics must be named
   */
  filter<Filter extends { readonly topic?: string; readonly error?: string }>(filter: Filter): Filter {
    if (filter.error !== undefined && !this.#payloads)
      throw new Denied(
        'payloads',
        new OutboxError('OUTBOX_REQUEST_DENIED', 'The condition "error" needs the right to read payloads.'),
      );
    if (this.#topics === undefined) return filter;
    const { topic } = filter;
    if (topic !== undefined) {
      this.require(topic, topicUnknown(topic));
      return filter;
    }
    const [only, ...others] = this.#topics;
    if (only !== undefined && others.length === 0) return { ...filter, topic: only };
    throw new OutboxError(
      'OUTBOX_REQUEST_INVALID',
      'You are limited to several topics: name one of them as "topic".',
    );
  }
}

/** The error for a topic that there is not. */
export function topicUnknown(topic: string): OutboxError {
  return new OutboxError('OUTBOX_TOPIC_UNKNOWN', `No relay has announced the topic "${topic}".`, {
    details: { topic },
  });
}
