import type { Mutation } from '../mutation.ts';

const lastWord = 'A handler has the last word about its message';
const topicDelays = 'The retry delays of a topic apply wherever its messages are tried';
const givenUp = "A handler's signal fires when its transaction was given up";
const middlewares = 'Middlewares wrap every transaction of handlers';
const promise = 'A forgotten promise is reported';
const verdicts = 'test/integration/inbox-verdicts.test.ts';
const signal = 'test/integration/inbox-signal.test.ts';

/** What a handler may say, and what it is told. */
export const handlerMutations: readonly Mutation[] = [
  {
    name: 'permanent-tried-quickly',
    promise: lastWord,
    file: 'src/inbox/intake/settle-one.ts',
    find: "        if (verdictOf(error) !== undefined) return this.park(message, 'error', error);\n        let",
    replace: '        let',
    test: verdicts,
    title: 'a message that its handler calls permanent is failed at once, in place and when it is parked',
  },
  {
    name: 'permanent-parked',
    promise: lastWord,
    file: 'src/inbox/intake/applier.ts',
    find: "      verdict?.kind === 'permanent' ||\n",
    replace: '',
    test: verdicts,
    title: 'of a batch only the message that its handler calls permanent is failed',
  },
  {
    name: 'permanent-tried-again-when-parked',
    promise: lastWord,
    file: 'src/inbox/intake/failed-try.ts',
    find: 'final: permanent || isFinal(refusal)',
    replace: 'final: isFinal(refusal)',
    test: verdicts,
    title: 'a message that its handler calls permanent is failed at once, in place and when it is parked',
  },
  {
    name: 'parked-by-the-rules-in-place-of-the-word',
    promise: lastWord,
    file: 'src/inbox/intake/applier.ts',
    find: "verdict?.kind === 'retry-after' ? verdict.inMs : (firstMs ?? 0)",
    replace: 'firstMs ?? 0',
    test: verdicts,
    title: 'a handler may ask for hours where its rules have moments',
  },
  {
    name: 'verdict-opens-the-breaker',
    promise: lastWord,
    file: 'src/inbox/parked/uncounted-tries.ts',
    find: 'if (verdictOf(error) !== undefined) {',
    replace: 'if (verdictOf(error) === null) {',
    test: verdicts,
    title: 'what handlers have a word about says nothing of what may be away',
  },
  {
    name: 'first-delay-of-the-consumer',
    promise: topicDelays,
    file: 'src/inbox/intake/applier.ts',
    find: "const [firstMs] = delaysOf('retryMs', message.way, rules.retryMs);",
    replace: 'const [firstMs] = rules.retryMs;',
    test: 'test/integration/inbox-handler-options.test.ts',
    title: 'the delays of a handler hold instead of those of its consumer',
  },
  {
    name: 'given-up-without-its-handler',
    promise: topicDelays,
    file: 'src/store/inbox/tries.ts',
    find: 'array_fill($2::float8, array[${moreTriesThanAny}])',
    replace: 'array_fill($2::float8, array[1])',
    test: 'test/integration/parked-tries.test.ts',
    title: 'a try begins by the delays of its topic',
  },
  {
    name: 'limit-not-told',
    promise: givenUp,
    file: 'src/inbox/intake/handler-transactions.ts',
    find: 'setTimeout(() => this.giveUp(tooLong(this.#limitMs)), Math.max(0, leftMs))',
    replace: 'setTimeout(() => undefined, Math.max(0, leftMs))',
    test: signal,
    title: 'the signal of a handler fires when its transaction has taken as long as it may',
  },
  {
    name: 'given-up-counts',
    promise: givenUp,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'if (error instanceof GivenUp) return this.#giveBack(begun);',
    replace: '',
    test: signal,
    title: 'a parked message that is in hand when the time of a stop is over loses no try',
  },
  {
    name: 'lost-member-not-told',
    promise: givenUp,
    file: 'src/sources/kafka/pulse.ts',
    find: 'if (out.has(type)) this.#lost.abort();',
    replace: 'if (out.has(error)) this.#lost.abort();',
    test: 'test/unit/sources/kafka-pulse.test.ts',
    title: 'is out of its group',
  },
  {
    name: 'parked-tries-without-middlewares',
    promise: middlewares,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'handlers.run(ready, undefined,',
    replace: 'handlers.run([], undefined,',
    test: 'test/integration/inbox-middleware.test.ts',
    title: 'handlers find what a middleware has put around their transaction',
  },
  {
    name: 'middleware-swallows-a-failure',
    promise: middlewares,
    file: 'src/inbox/middleware.ts',
    find: '    await inner;\n  };',
    replace: '  };',
    test: 'test/unit/inbox/middleware.test.ts',
    title: 'a failure behind next stays one where a middleware',
  },
  {
    name: 'forgotten-promise-not-told',
    promise,
    file: 'src/inbox/handler.ts',
    find: 'if (!told && !isThenable(answer)) {',
    replace: 'if (told && !isThenable(answer)) {',
    test: 'test/integration/consumer-life.test.ts',
    title: 'a handler that answers no promise is told once',
  },
];
