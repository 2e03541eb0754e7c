import type { Mutation } from '../mutation.ts';

const hotKey = 'hot-key-leaves-parking';
const overtaken = 'replaced-try-does-nothing';
const takeover = 'key-of-killed-consumer-continues';
const pooler = 'pooler-costs-speed-only';
const tries = 'test/integration/parked/tries.test.ts';
const kills = 'test/integration/parked/kills.test.ts';
const shared = 'a live process is not dead to another one that gets its connection, as behind a pooler:';

/** A parked message is tried: by whom, how often, and until when. */
export const tryMutations: readonly Mutation[] = [
  {
    name: 'try-walks-over-what-was-handled',
    promise: hotKey,
    file: 'outbox.begin_try()',
    find: 'where x.key_id = p_id and x.position > k.ended order by',
    replace: 'where x.key_id = p_id order by',
    test: tries,
    title:
      'a try reads almost nothing of the messages handled before it, while an old snapshot prevents their removal',
  },
  {
    name: 'dead-processes-not-looked-for',
    promise: takeover,
    file: 'outbox.end_dead_tries()',
    find: 'continue when not outbox.worker_died(w);',
    replace: 'continue;',
    test: kills,
    title: 'a try of a dead process ends at once: it counts as a kill, not as an attempt, and its key is due',
  },
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
  {
    name: 'dead-try-keeps-its-time',
    promise: takeover,
    file: 'outbox.bury_try()',
    find: 'tries = k.tries + 1, next_at = outbox.clock() where',
    replace: 'tries = k.tries + 1 where',
    test: kills,
    title: 'a try of a dead process ends at once: it counts as a kill, not as an attempt, and its key is due',
  },
  {
    name: 'overtaken-try-joined',
    promise: overtaken,
    file: 'outbox.join_try()',
    find: ' and k.tries = p_number',
    replace: '',
    test: tries,
    title: 'an overtaken try cannot be joined',
  },
  {
    name: 'overtaken-try-given-back',
    promise: overtaken,
    file: 'outbox.return_try()',
    find: ' and x.tries = p_number',
    replace: '',
    test: tries,
    title: 'a try is returned at most once, and not after another one has overtaken it',
  },
  {
    name: 'try-given-back-counts',
    promise: overtaken,
    file: 'outbox.return_try()',
    find: 'set attempts = greatest(p.attempts - 1, 0), updated_at',
    replace: 'set updated_at',
    test: tries,
    title: 'a returned try is not counted, and the next one is due at the given time',
  },
  {
    name: 'missing-handler-counts-as-a-try',
    promise: 'try-without-handler-does-not-count',
    file: 'src/inbox/parked/uncounted-tries.ts',
    find: ` && error.code === 'OUTBOX_HANDLER_MISSING'`,
    replace: ` && error.code === 'OUTBOX_INTERNAL'`,
    test: 'test/integration/inbox/handler-elsewhere.test.ts',
  },
];
