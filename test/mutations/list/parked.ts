import type { Mutation } from '../mutation.ts';

/** A message that failed waits for its next try, and for a person. */
export const parkedMutations: readonly Mutation[] = [
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
