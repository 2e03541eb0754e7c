import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom, type Observable, throwError } from 'rxjs';
import { type Consumer, type ConsumerOptions, consumer, type InboxMessage } from 'temporal-outbox/consumer';
import type { PrismaService, Tx } from './prisma.service.ts';

/** What a handler gets by `@Ctx()`: its transaction, and the message with id, key, headers and attempt. */
export class OutboxContext extends BaseRpcContext<[Tx, InboxMessage<unknown>]> {
  get tx(): Tx {
    return this.args[0];
  }
  get message(): InboxMessage<unknown> {
    return this.args[1];
  }
}

/** Hands messages to the methods with `@EventPattern(<name of the topic>)`, in a transaction for each. */
export class OutboxStrategy extends Server implements CustomTransportStrategy {
  readonly #consumer: Consumer<Tx>;
  readonly #topics: ConsumerOptions['config']['topics'];
  // A failure of a handler is the consumer's to count, to try again and to tell.
  override readonly propagatesEventHandlerErrors = true;

  constructor(prisma: PrismaService, options: ConsumerOptions) {
    super();
    this.#consumer = consumer(prisma, options);
    this.#topics = options.config.topics;
  }

  listen(done: (error?: unknown) => void): void {
    for (const topic of this.#topics) {
      const handle = this.getHandlerByPattern(topic.name);
      if (handle === null) continue;
      this.#consumer.on(topic, async (tx, message) => {
        const answer = await handle(message.payload, new OutboxContext([tx, message]));
        await lastValueFrom(this.transformToObservable(answer), { defaultValue: undefined });
      });
    }
    this.#consumer.start().then(() => done(), done);
  }

  close(): Promise<void> {
    return this.#consumer.stop();
  }

  on(): void {}

  unwrap<T>(): T {
    return this.#consumer as T;
  }
}

/** Lets errors of handlers through as they are, also `permanent` and `retryAfter`. By default Nest hides them. */
@Catch()
export class PassErrors implements ExceptionFilter<unknown> {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => error);
  }
}
