import type { Mutation } from '../mutation.ts';

const ownServers = 'own-servers-per-project';

/** What a developer has on a machine: servers, and files that were written. */
export const developmentMutations: readonly Mutation[] = [
  {
    name: 'data-deleted-under-its-servers',
    promise: ownServers,
    file: 'dev/servers/kept-servers.ts',
    find: '  refuseIfUsed(cache, folder);\n',
    replace: "  if (cache === '') refuseIfUsed(cache, folder);\n",
    test: 'test/integration/dev/servers-projects.test.ts',
    title:
      'two projects have servers and data of their own, and --reset starts one afresh but is refused by running servers',
    built: true,
  },
  {
    name: 'broken-server-not-restarted',
    promise: ownServers,
    file: 'dev/servers/process/watch-answers.ts',
    find: 'error === undefined ? 0 : errors + 1',
    replace: 'error === undefined ? 0 : 1',
    test: 'test/unit/dev/watch-answers.test.ts',
    title: 'a server that answers with an error three times in a row is restarted',
  },
  {
    name: 'dead-server-not-reported',
    promise: ownServers,
    file: 'dev/servers/process/server-process.ts',
    find: 'if (serving === started) context.died',
    replace: 'if (serving !== started) context.died',
    test: 'test/integration/dev/servers-projects.test.ts',
    title: 'dev ends with a server that dies, and names it',
    built: true,
  },
  {
    name: 'stop-of-a-starting-consumer-uncaught',
    promise: 'written-consumer-stops-cleanly',
    file: 'dev/init/written-files.ts',
    find: `"  if (error.code !== 'OUTBOX_STOPPED') throw error;",`,
    replace: `'  throw error;',`,
    test: 'test/integration/dev/init.test.ts',
    title: 'the consumer written by init stops cleanly on SIGTERM, also while it waits for',
    built: true,
  },
];
