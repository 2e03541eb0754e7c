import type { Mutation } from '../mutation.ts';

const byRequests = 'test/integration/api/requests.test.ts';

/** What scripts, probes and people watch. */
export const watchingMutations: readonly Mutation[] = [
  {
    name: 'api-unfinished-answer-stored',
    promise: 'repeated-request-acts-once',
    file: 'src/api/answer.ts',
    find: 'operation.unfinished?.(value) === true',
    replace: 'operation.unfinished?.(value) === undefined',
    test: byRequests,
    title: 'an answer that is not done is not that of its key: a repeat goes on',
  },
  {
    name: 'api-incomplete-pause-stored',
    promise: 'repeated-request-acts-once',
    file: 'src/api/table/delivery.ts',
    find: "'complete' in answer && answer.complete === false",
    replace: "'complete' in answer && answer.complete === null",
    test: byRequests,
    title: 'an answer that is not done is not that of its key: a repeat goes on',
  },
];
