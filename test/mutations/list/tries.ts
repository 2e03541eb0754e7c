import type { Mutation } from '../mutation.ts';

const pooler = 'pooler-costs-speed-only';
const kills = 'test/integration/parked/kills.test.ts';
const shared = 'a live process is not dead to another one that gets its connection, as behind a pooler:';

/** A parked message is tried: by whom, how often, and until when. */
export const tryMutations: readonly Mutation[] = [
  {
    name: 'worker-dead-to-its-own-connection',
    promise: pooler,
    file: 'outbox.end_dead_tries()',
    find: 'continue when not outbox.worker_died(w);',
    replace: 'continue when not pg_try_advisory_xact_lock(w);',
    test: kills,
    title: shared,
  },
  {
    name: 'overdue-try-of-the-living-is-a-kill',
    promise: pooler,
    file: 'outbox.begin_try()',
    find: 'outbox.worker_died(k.worker)',
    replace: 'pg_try_advisory_xact_lock(k.worker)',
    test: kills,
    title: shared,
  },
];
