import type { Mutation } from '../mutation.ts';

const replays = 'replay-once-in-order';
const test = 'test/integration/operations/replay.test.ts';
const wholeWay =
  'the command replays a topic from history and live tables in the order of each key, with new ids';

/** Bugs of replays. */
export const replayMutations: readonly Mutation[] = [
  {
    name: 'replay-without-archived-leaves',
    promise: replays,
    file: 'src/store/bulk/replay-selection.ts',
    find: "select 'archived', a.lane, null, null, null, null, null from archived a where 'published' = any($3::text[])",
    replace: "select 'archived', a.lane, null, null, null, null, null from archived a where false",
    test,
    title: wholeWay,
  },
  {
    name: 'replay-in-no-order',
    promise: replays,
    file: 'src/store/bulk/replay.ts',
    find: 'and ${matchesSql} order by a.position, a.id`',
    replace: 'and ${matchesSql} order by a.position desc, a.id`',
    test,
    title: wholeWay,
  },
  {
    name: 'named-replay-of-everything',
    promise: replays,
    file: 'src/store/bulk/messages.ts',
    find: 'walkOfReplay({ filter, selectedUntil }, named)',
    replace: 'walkOfReplay({ filter, selectedUntil })',
    test,
    title: 'a replay of named messages sends these in their order',
  },
  {
    name: 'replay-page-at-once',
    promise: replays,
    file: 'src/store/bulk/replay.ts',
    find: 'left = partBytes - bytes;',
    replace: 'left = Number.MAX_SAFE_INTEGER;',
    test: 'test/integration/operations/replay-parts.test.ts',
  },
];
