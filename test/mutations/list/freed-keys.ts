import type { Mutation } from '../mutation.ts';

/** A key is free again. */
export const freedKeyMutations: readonly Mutation[] = [
  {
    name: 'claim-reads-all-freed-keys',
    promise: 'history-slows-nothing',
    file: 'outbox.write_claim()',
    find: 'outbox.freed_since(p_topic, p_lane, freed_snapshot)',
    replace: 'outbox.freed_since(p_topic, p_lane, null)',
    test: 'test/integration/relay/old-snapshots.test.ts',
    title: 'a quiet lane costs a claim as little behind',
  },
  {
    name: 'release-before-every-claim',
    promise: 'history-slows-nothing',
    file: 'src/relay/drain.ts',
    find: 'this.#freed = claimed.freed;',
    replace: 'this.#freed = true;',
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'claiming a message of another key costs the same with 20,000 blocked keys',
  },
];
