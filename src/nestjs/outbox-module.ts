import { OutboxError } from '../core/errors.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { handlingsOf } from './on-message.ts';
import { OutboxConsumer, type OutboxModuleOptions } from './outbox-consumer.ts';

/** A class whose instances NestJS makes. */
export type HandlerClass = abstract new (...given: never[]) => object;

/** What the module has besides the options of its consumer. */
export interface OutboxModuleParts<Provider extends HandlerClass, Imported> {
  /** Classes with methods that have `@OnMessage`: providers of this module. */
  readonly handlers: Provider[];
  /** Modules that export what the handlers, and `useFactory`, inject. @defaultValue none */
  readonly imports?: Imported[];
}

/** Options that are made of what can be injected. */
export interface OutboxModuleAsyncOptions<Tx extends Transaction, Given extends unknown[], Token> {
  /** Tokens of what `useFactory` takes. @defaultValue none */
  readonly inject?: Token[];
  /** Makes the options of the consumer. */
  readonly useFactory: (...given: Given) => OutboxModuleOptions<Tx> | Promise<OutboxModuleOptions<Tx>>;
}

/** A provider that is made by a function. */
export interface OutboxProvider<Token> {
  /** By what it is injected. */
  provide: symbol | typeof OutboxConsumer;
  /** Makes it. */
  useFactory: (...given: unknown[]) => unknown;
  /** What the function takes. */
  inject: Token[];
}

/** A dynamic module of NestJS, written down without its types: so any version takes it. */
export interface OutboxDynamicModule<Provider, Imported, Token> {
  /** Its class. */
  module: typeof OutboxModule;
  /** Modules that it needs. */
  imports: Imported[];
  /** What it makes. */
  providers: (Provider | OutboxProvider<Token | Provider | symbol>)[];
  /** What others may inject. */
  exports: (typeof OutboxConsumer)[];
}

const optionsToken = Symbol('temporal-outbox options');

/**
 * A consumer as a module of NestJS 11 or later. Senders need no module: they call `send` in their transactions.
 *
 * It exports {@link OutboxConsumer}. Guards, pipes, interceptors and filters are of controllers, and have no effect on handlers;
 * handlers of a request or transient scope are not supported.
 *
 * @example
 * @Module({
 *   imports: [
 *     OutboxModule.forRootAsync({
 *       imports: [PrismaModule],
 *       inject: [PrismaService],
 *       useFactory: (client: PrismaService) => ({ client, config, group: 'orders' }),
 *       handlers: [OrderTimeouts],
 *     }),
 *   ],
 * })
 * export class AppModule {}
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- NestJS tells modules apart by their class
export class OutboxModule {
  /**
   * With options that are known when the module is loaded.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for a handler without `@OnMessage`
   */
  static forRoot<Tx extends Transaction, Provider extends HandlerClass, Imported = never>({
    handlers,
    imports = [],
    ...options
  }: OutboxModuleOptions<Tx> & OutboxModuleParts<Provider, Imported>): OutboxDynamicModule<
    Provider,
    Imported,
    never
  > {
    return moduleOf(handlers, imports, [], () => options);
  }

  /**
   * With options that are made of what NestJS injects, such as the client.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for a handler without `@OnMessage`
   */
  static forRootAsync<
    Tx extends Transaction,
    Given extends unknown[],
    Provider extends HandlerClass,
    Imported = never,
    Token = never,
  >({
    handlers,
    imports = [],
    inject = [],
    useFactory,
  }: OutboxModuleAsyncOptions<Tx, Given, Token> & OutboxModuleParts<Provider, Imported>): OutboxDynamicModule<
    Provider,
    Imported,
    Token
  > {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- NestJS injects what the tokens name, in their order
    return moduleOf(handlers, imports, inject, (...given) => useFactory(...(given as Given)));
  }
}

function moduleOf<Provider extends HandlerClass, Imported, Token>(
  handlers: Provider[],
  imports: Imported[],
  inject: Token[],
  useFactory: (...given: unknown[]) => unknown,
): OutboxDynamicModule<Provider, Imported, Token> {
  for (const handler of handlers)
    if (handlingsOf(prototypeOf(handler)).length === 0) throw handlesNothing(handler);
  return {
    module: OutboxModule,
    imports,
    providers: [
      ...handlers,
      { provide: optionsToken, useFactory, inject },
      {
        provide: OutboxConsumer,
        useFactory: (options, ...made) =>
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- NestJS injects what the tokens name, in their order
          new OutboxConsumer(options as OutboxModuleOptions, made as object[]),
        inject: [optionsToken, ...handlers],
      },
    ],
    exports: [OutboxConsumer],
  };
}

function prototypeOf(handler: HandlerClass): object {
  const { prototype }: { readonly prototype: object } = handler;
  return prototype;
}

function handlesNothing(handler: HandlerClass): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `${handler.name} of the handlers of OutboxModule has no method with @OnMessage.`,
    { details: { option: 'handlers' } },
  );
}
