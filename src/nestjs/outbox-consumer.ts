import { type ConsumerOptions, consumer } from '../app/consumer/consumer.ts';
import { OutboxError } from '../core/errors.ts';
import { type Health, withoutText } from '../core/health.ts';
import type { StopOptions } from '../core/running.ts';
import type { Consumer, ConsumerStatus } from '../inbox/consumer-interface.ts';
import type { TransactionClient } from '../inbox/transaction-client.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { handlingsOf } from './on-message.ts';

/** What a module's consumer works with: the options of `consumer`, its client, and how long a stop may take. */
export interface OutboxModuleOptions<Tx extends Transaction = Transaction> extends ConsumerOptions {
  /** A Prisma client, or a pool wrapped by `clientOf`: handlers run in its transactions. */
  readonly client: TransactionClient<Tx>;
  /** As `timeout` of the consumer's `stop`, when the application closes. @defaultValue as long as it takes */
  readonly stopTimeout?: NonNullable<StopOptions['timeout']>;
}

/** A part of the answer of `/health`, as `@nestjs/terminus` takes it of an indicator. */
export interface OutboxIndication {
  /** `down`: terminus answers 503. */
  readonly status: 'up' | 'down';
  /** As in `Health`. */
  readonly state: Health['state'];
  /** As in `Health`. */
  readonly joined: boolean;
  /** As in `Health`. */
  readonly lastProgressAt: Date | null;
  /** What is failing, since when, and the code of an error of this library: its text could contain a payload or an address. */
  readonly failing: { readonly what: string; readonly since: Date; readonly code?: string }[];
}

/**
 * The consumer of an {@link OutboxModule}, to be injected for its health. It starts when the application has been initialized, and
 * does not keep it waiting: while a server is away the application answers requests and is not ready. It stops first when the
 * application closes, which needs `app.enableShutdownHooks()` for SIGTERM to close it.
 */
export class OutboxConsumer {
  /**
   * Resolves when the consumer has joined its group, or was stopped before. Rejects if it cannot start, as `start` of a consumer:
   * without a handler of this rejection the process ends by it.
   */
  readonly started: Promise<void>;
  readonly #consumer: Consumer<Transaction>;
  readonly #stopOptions: StopOptions;
  #begin: (joined: Promise<unknown>) => void = () => undefined;

  /** Called by the module. */
  constructor(options: OutboxModuleOptions, handlers: readonly object[]) {
    const { client, stopTimeout, ...given } = options;
    this.#stopOptions = stopTimeout === undefined ? {} : { timeout: stopTimeout };
    this.#consumer = consumer(client, given);
    for (const handler of handlers) {
      for (const { method, register } of handlingsOf(handler)) {
        register(this.#consumer, (...message) => {
          const handle: unknown = Reflect.get(handler, method);
          if (typeof handle !== 'function') throw new TypeError(`${String(method)} is no method any more.`);
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the decorator takes only methods that return a promise
          return Reflect.apply(handle, handler, message) as Promise<unknown>;
        });
      }
    }
    this.started = new Promise((resolve, reject) => {
      this.#begin = (joined) => {
        joined.then(
          () => resolve(),
          (error: unknown) => (wasStopped(error) ? resolve() : reject(error)),
        );
      };
    });
  }

  /** Starts it; NestJS calls this. */
  onApplicationBootstrap(): void {
    this.#begin(this.#consumer.start());
  }

  /** Finishes the messages in hand and leaves the group; NestJS calls this before it closes what the module imports. */
  async onModuleDestroy(): Promise<void> {
    await this.#consumer.stop(this.#stopOptions);
  }

  /** As `health()` of a consumer. */
  health(): Health {
    return this.#consumer.health();
  }

  /** As `status()` of a consumer. */
  status(): Promise<ConsumerStatus> {
    return this.#consumer.status();
  }

  /**
   * For readiness: `down` while it is no member of its group. `@nestjs/terminus` 11 and later takes it as an indicator:
   * `health.check([() => consumer.ready()])`.
   */
  ready(key = 'outbox'): Record<string, OutboxIndication> {
    return { [key]: this.#indicate(({ joined }) => joined) };
  }

  /** For liveness: `down` when it has ended, or could not start. Nothing else is mended by a restart. */
  live(key = 'outbox'): Record<string, OutboxIndication> {
    return { [key]: this.#indicate(({ state }) => state !== 'stopped') };
  }

  #indicate(isUp: (health: Health) => boolean): OutboxIndication {
    const health = this.health();
    const { state, joined, lastProgressAt } = health;
    const failing = health.failing.map(withoutText);
    return { status: isUp(health) ? 'up' : 'down', state, joined, lastProgressAt, failing };
  }
}

function wasStopped(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_STOPPED';
}
