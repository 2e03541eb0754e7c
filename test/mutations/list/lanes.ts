import type { Mutation } from '../mutation.ts';

const standsStill = 'no-lane-stops';

/** A lane is owned and claimed. */
export const laneMutations: readonly Mutation[] = [
  {
    name: 'lane-of-a-dead-session-stays',
    promise: 'dead-relay-lanes-taken-over',
    file: 'outbox.lane_taken()',
    find: ' or outbox.session_lives(l.session)',
    replace: ' or true',
    test: 'test/integration/relay/lease.test.ts',
    title: 'an owner whose session has ended is replaced half a second after its last renewal',
  },
  {
    name: 'session-dead-to-its-own-connection',
    promise: 'pooler-costs-speed-only',
    file: 'outbox.lane_taken()',
    find: '\n      or outbox.session_here(l.session)',
    replace: '',
    test: 'test/integration/relay/lease-session.test.ts',
    title:
      'a lane also counts as owned when the query shares its connection with the session, as behind a pooler:',
  },
  {
    name: 'lane-waited-for',
    promise: standsStill,
    file: 'src/store/lane/lease.ts',
    find: 'where topic = $1 and n = $2 for update skip locked',
    replace: 'where topic = $1 and n = $2 for update',
    test: 'test/integration/relay/lease.test.ts',
    title: 'a new owner waits for a settle in progress and claims only the messages that it left',
  },
  {
    name: 'idle-connections-outlive-a-silent-session',
    promise: standsStill,
    file: 'src/store/database/pool.ts',
    find: 'openSession(address, channel, onNotify, dropAll)',
    replace: 'openSession(address, channel, onNotify, () => undefined)',
    test: 'test/integration/database/pool-silent.test.ts',
  },
  {
    name: 'renewals-pile-up',
    promise: standsStill,
    file: 'src/relay/lane-lease.ts',
    find: 'if (renewing) return;',
    replace: '',
    test: 'test/integration/relay/outside-locks.test.ts',
    title: 'while the row of a lane is locked, its slow publish keeps one connection waiting at a time',
  },
  {
    name: 'stuck-publish-keeps-its-lane',
    promise: standsStill,
    file: 'src/relay/answered-in-time.ts',
    find: 'return await Promise.race([call(asked.signal), givenUp]);',
    replace: 'return await call(asked.signal);',
    test: 'test/integration/relay/stuck-transport.test.ts',
    title:
      'a publish that never settles is aborted, reported, and costs its lane, which sends the batch again',
  },
  {
    name: 'failed-look-begins-where-it-began',
    promise: standsStill,
    file: 'src/relay/watcher.ts',
    find: '    this.#last = null;\n    return look(',
    replace: '    return look(',
    test: 'test/integration/relay/look-failed.test.ts',
    title: 'a relay with one look that takes too long still sends, releases and starts',
  },
  {
    name: 'starts-wait-for-locked-messages',
    promise: standsStill,
    file: 'src/store/lane/starts.ts',
    find: 'for no key update skip locked`',
    replace: 'for no key update`',
    test: 'test/integration/relay/outside-locks.test.ts',
    title: 'locked messages are neither waited for nor forgotten after their workflows were started',
  },
  {
    name: 'locked-messages-hide-the-others',
    promise: standsStill,
    file: 'src/relay/starter.ts',
    find: 'untoldMessages(this.#database, messagesPerRound, left, from)',
    replace: 'untoldMessages(this.#database, messagesPerRound, [], from)',
    test: 'test/integration/relay/outside-locks.test.ts',
    title:
      'workflows of waiting messages are started although a business transaction has locked more of them than are read at once',
  },
  {
    name: 'refused-without-a-prepared-statement',
    promise: 'pooler-costs-speed-only',
    file: 'src/store/database/prepared-statements.ts',
    find: 'if (!isRefusal(error)) throw error;',
    replace: 'if (!isRefusal(error) || !this.#refused) throw error;',
    test: 'test/integration/relay/prepared-statements.test.ts',
    title: 'a statement that the connection no longer has is still answered, as behind a pooler',
  },
  {
    name: 'silent-transaction-keeps-its-locks',
    promise: standsStill,
    file: 'src/store/database/pool.ts',
    find: '    idle_in_transaction_session_timeout: idleMs,\n',
    replace: '',
    test: 'test/integration/relay/outside-locks.test.ts',
    title: 'a silent transaction is ended with its locks, whatever happened to its process',
  },
];
