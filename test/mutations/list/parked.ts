import type { Mutation } from '../mutation.ts';

const audited = 'actions-audited';

/** A message that failed waits for its next try, and for a person. */
export const parkedMutations: readonly Mutation[] = [
  {
    name: 'filter-not-asked-under-the-lock',
    promise: audited,
    file: 'outbox.is_asked_for()',
    find: 'p_message.state = any (p_states)',
    replace: 'true',
    test: 'test/contract/bulk.test.ts',
    title: 'a locked message that no longer matches',
  },
  {
    name: 'bulk-page-not-counted-with-its-messages',
    promise: audited,
    file: 'src/store/bulk/page.ts',
    find: 'const counts = add(bulk.counts, answers);',
    replace: 'const counts = add(bulk.counts, bulk.group === null ? answers : []);',
    test: 'test/invariants/kept-bulk-once.test.ts',
    title:
      'I14 F01 a bulk operation on 900 kept messages continues when its consumers are killed and changes each exactly once',
    built: true,
  },
  {
    name: 'stand-ins-stop-after-the-watcher',
    promise: 'handler-signal-fires',
    file: 'src/inbox/start-parked.ts',
    find: 'await Promise.all([watcher.stop(), standIns.stop(), hosted.stop()]);',
    replace: 'await watcher.stop(); await Promise.all([standIns.stop(), hosted.stop()]);',
    test: 'test/integration/inbox/signal.test.ts',
    title: 'it uses up no try either if the stop waits for a silent Temporal',
  },
];
