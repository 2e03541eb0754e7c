import type { Mutation } from '../mutation.ts';

const lastWord = 'handler-has-last-word';
const anything = 'handler-may-throw-anything';
const caused = 'error-told-with-causes';
const givenUp = 'handler-signal-fires';
const middlewares = 'middlewares-wrap-transactions';
const promise = 'forgotten-promise-reported';
const verdicts = 'test/integration/inbox/verdicts.test.ts';
const signal = 'test/integration/inbox/signal.test.ts';

/** What a handler may say, and what it is told. */
export const handlerMutations: readonly Mutation[] = [
  {
    name: 'text-that-postgresql-refuses-in-a-hold',
    promise: anything,
    file: 'src/store/database/storable-text.ts',
    find: "typeof part === 'string' ? storableText(part) : part",
    replace: 'part',
    test: 'test/integration/database/storable-texts.test.ts',
    title: 'is recorded, whatever the text of the failure is',
  },
  {
    name: 'copies-share-nothing',
    promise: 'handler-has-last-word',
    file: 'src/core/shared.ts',
    find: 'return Symbol.for(`temporal-outbox/${name}`);',
    replace: 'return Symbol(`temporal-outbox/${name}`);',
    test: 'test/unit/core/two-copies.test.ts',
    title: 'a verdict of another copy counts, and is no part of the text',
  },
  {
    name: 'unstorable-error-stops-its-partition',
    promise: anything,
    file: 'src/inbox/intake/applier.ts',
    find: 'if (faultOf(unkept) !== undefined) throw unkept;',
    replace: 'if (faultOf(unkept) !== undefined || cause) throw unkept;',
    test: 'test/integration/inbox/thrown-values.test.ts',
    title: 'a message whose error the database refuses to store is kept without it',
  },
  {
    name: 'causes-of-causes-untold',
    promise: caused,
    file: 'src/core/cause-chain.ts',
    find: '    current = causeOf(current);',
    replace: '    current = undefined;',
    test: 'test/unit/core/cause-chain.test.ts',
    title: 'the text of an error of',
  },
  {
    name: 'permanent-tried-quickly',
    promise: lastWord,
    file: 'src/inbox/intake/settle-one.ts',
    find: "        if (verdictOf(error) !== undefined) return this.#park(message, 'error', error);\n        let",
    replace: '        let',
    test: verdicts,
    title:
      'a message that its handler calls permanent is failed at once, in place and when parked, and its key continues',
  },
  {
    name: 'permanent-parked',
    promise: lastWord,
    file: 'src/inbox/intake/applier.ts',
    find: "      verdict?.kind === 'permanent' ||\n",
    replace: '',
    test: verdicts,
    title:
      'only the message of a batch that its handler calls permanent is failed, and under block-key it blocks its key',
  },
  {
    name: 'permanent-tried-again-when-parked',
    promise: lastWord,
    file: 'src/inbox/parked/failed-try.ts',
    find: 'final: permanent || isFinal(refusal)',
    replace: 'final: isFinal(refusal)',
    test: verdicts,
    title:
      'a message that its handler calls permanent is failed at once, in place and when parked, and its key continues',
  },
  {
    name: 'parked-by-the-rules-despite-a-verdict',
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
    title: 'verdicts of handlers do not count for the breaker',
  },
  {
    name: 'limit-does-not-fire-the-signal',
    promise: givenUp,
    file: 'src/inbox/handling/handler-transactions.ts',
    find: 'startTimer(() => this.giveUp(tooLong(this.#limitMs)), Math.max(0, leftMs))',
    replace: 'startTimer(() => undefined, Math.max(0, leftMs))',
    test: signal,
    title: 'the signal of a handler fires at the limit of its transaction',
  },
  {
    name: 'long-timer-fires-at-once',
    promise: givenUp,
    file: 'src/core/timer.ts',
    find: 'if (ms <= longestTimerMs) return',
    replace: 'if (ms > 0) return',
    test: 'test/unit/core/timer.test.ts',
    title: 'a timer of 30 days does not fire at once, and Node has nothing to warn of',
  },
  {
    name: 'given-up-counts',
    promise: givenUp,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'if (error instanceof GivenUp) return this.#giveBack(begun);',
    replace: '',
    test: signal,
    title: 'a parked message in hand at the end of the time of a stop uses up no try',
  },
  {
    name: 'lost-member-does-not-fire-the-signal',
    promise: givenUp,
    file: 'src/brokers/kafka/source/pulse.ts',
    find: 'if (out.has(type)) this.#lost.abort();',
    replace: 'if (out.has(error)) this.#lost.abort();',
    test: 'test/unit/brokers/kafka/pulse.test.ts',
    title: 'is no longer in its group',
  },
  {
    name: 'parked-tries-without-middlewares',
    promise: middlewares,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'handlers.run(ready, undefined,',
    replace: 'handlers.run([], undefined,',
    test: 'test/integration/inbox/middleware.test.ts',
    title: 'handlers see what a middleware set around their transaction, in place and for parked messages',
  },
  {
    name: 'middleware-swallows-a-failure',
    promise: middlewares,
    file: 'src/inbox/middleware.ts',
    find: '    await inner;\n  };',
    replace: '  };',
    test: 'test/unit/inbox/middleware.test.ts',
    title: 'a failure of next remains one where a middleware',
  },
  {
    name: 'forgotten-promise-not-reported',
    promise,
    file: 'src/inbox/handler.ts',
    find: 'if (!told && !isThenable(answer)) {',
    replace: 'if (told && !isThenable(answer)) {',
    test: 'test/integration/inbox/consumer-life.test.ts',
    title: 'a handler that returns no promise is reported once, and its messages count as handled',
  },
];
