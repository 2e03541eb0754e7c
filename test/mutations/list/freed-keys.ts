import type { Mutation } from '../mutation.ts';

const blockedKeys = 'A key continues when what blocked it is over';

/** A key is free again. */
export const freedKeyMutations: readonly Mutation[] = [
  {
    name: 'failed-message-frees-no-key',
    promise: blockedKeys,
    file: 'prisma/migrations/20261121000000_outbox/migration.sql',
    find: `when (old.state in ('retrying', 'failed') and new.state`,
    replace: `when (old.state in ('retrying') and new.state`,
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'message lets its key continue at once with 20,000 blocked keys',
  },
  {
    name: 'cancel-behind-its-follower-unnoted',
    promise: blockedKeys,
    file: 'outbox.note_freed()',
    find: `if new.state = 'canceled' or (select`,
    replace: 'if (select',
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'a cancel that begins before its follower is blocked and commits after it frees the key',
  },
  {
    name: 'freed-key-is-no-work',
    promise: blockedKeys,
    file: 'outbox.has_work()',
    find: 'f.topic = p_lane.topic and f.lane = p_lane.n)',
    replace: 'f.topic = p_lane.topic and f.lane = -1)',
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'message lets its key continue at once with 20,000 blocked keys',
  },
  {
    name: 'blocked-behind-nothing-unnoted',
    promise: blockedKeys,
    file: 'src/store/lane/settle.ts',
    find: `filter(({ to }) => to === 'blocked')`,
    replace: `filter(({ to, attempt }) => to === 'blocked' && attempt !== undefined)`,
    test: 'test/integration/relay/blocked-keys.test.ts',
    title: 'followers of a permanent failure in the same batch wait until it is settled, then continue',
  },
  {
    name: 'freed-key-forgotten-while-locked',
    promise: blockedKeys,
    file: 'outbox.release_blocked()',
    find: 'where not exists (select from outbox.free_blocked(p_topic, p_lane, s.key',
    replace: 'where true or not exists (select from outbox.free_blocked(p_topic, p_lane, s.key',
    test: 'test/integration/relay/blocked-keys.test.ts',
    title: 'a follower that is being canceled keeps later ones blocked, and the release does not wait for it',
  },
  {
    name: 'freed-key-forgotten-during-a-change-of-lanes',
    promise: blockedKeys,
    file: 'outbox.release_blocked()',
    find: 'and not exists (select from outbox.topic_change c where c.topic = p_topic)',
    replace: '',
    test: 'test/integration/relay/blocked-keys.test.ts',
    title:
      'a key that was freed before a change of lanes goes on after it, although its lane is drained in between',
  },
  {
    name: 'walk-ends-with-its-first-turn',
    promise: blockedKeys,
    file: 'src/relay/starter.ts',
    find: 'walkBlocked(this.#database, this.#walkedTo)',
    replace: 'walkBlocked(this.#database)',
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'a starter checks the keys with blocked messages by turns',
  },
  {
    name: 'release-before-every-claim',
    promise: 'Backlogs and history slow nothing down',
    file: 'src/relay/drain.ts',
    find: 'this.#freed = claimed.freed;',
    replace: 'this.#freed = true;',
    test: 'test/integration/relay/freed-keys.test.ts',
    title: 'claiming a message of another key costs the same with 20,000 blocked keys',
  },
  {
    name: 'freed-key-of-another-lane',
    promise: blockedKeys,
    file: 'src/store/lane/lanes-switch.ts',
    find: 'where topic = $1 and lane <> outbox.lane_of(key, null, $2)`,',
    replace: 'where topic = $1 and lane < 0 and lane <> outbox.lane_of(key, null, $2)`,',
    test: 'test/integration/lanes/freed-key.test.ts',
    title: 'a key freed during a change continues in its new lane',
  },
];
