import type { Mutation } from '../mutation.ts';

const row = 'test/integration/relay/rate-row.test.ts';

/** How fast relays send the messages of a topic. */
export const rateMutations: readonly Mutation[] = [
  {
    name: 'rate-reads-its-versions',
    promise: 'history-slows-nothing',
    file: 'outbox.take_rate()',
    find: 'order by r.n desc limit 1 for update skip locked',
    replace: 'order by r.n limit 1 for update skip locked',
    test: row,
    title: 'behind an old snapshot a take',
  },
  {
    name: 'each-lane-asks-the-rate',
    promise: 'history-slows-nothing',
    file: 'src/relay/rate-gate.ts',
    find: '    if (leftMs > 0) return { granted: 0, waitMs: leftMs };\n',
    replace: '',
    test: 'test/unit/relay/drain-rate.test.ts',
    title: 'lanes of a process that wait for one rate',
  },
];
