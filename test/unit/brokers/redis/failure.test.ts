import { expect, test } from 'vitest';
import { meaningOf, redisAnswers } from '../../../../src/brokers/redis/transport/failure.ts';

const transport = { kind: 'hold', hold: { scope: 'transport' } } as const;
const topic = { kind: 'hold', hold: { scope: 'topic' } } as const;
const permanent = { kind: 'outcome', outcome: { kind: 'permanent' } } as const;

/** As servers say it, of 6.2 and 7.0. */
const said: readonly (readonly [answer: string, failure: object])[] = [
  ['ASK 3999 127.0.0.1:6381', transport],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', transport],
  ['CLUSTERDOWN Hash slot not served', transport],
  ["CROSSSLOT Keys in request don't hash to the same slot", transport],
  ['DENIED Redis is running in protected mode because protected mode is enabled', transport],
  ['LOADING Redis is loading the dataset in memory', transport],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", transport],
  [
    'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.',
    transport,
  ],
  ['MOVED 3999 127.0.0.1:6381', transport],
  ['NOAUTH Authentication required.', transport],
  ["NOPERM this user has no permissions to run the 'xadd' command or its subcommand", topic],
  ['NOREPLICAS Not enough good replicas to write.', transport],
  ["OOM command not allowed when used memory > 'maxmemory'.", transport],
  ["READONLY You can't write against a read only replica.", transport],
  ['TRYAGAIN Multiple keys request during rehashing of slot', transport],
  ['WRONGPASS invalid username-password pair or user is disabled.', transport],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', topic],
  ['ERR max number of clients reached', transport],
  ['ERR The stream has exhausted the last possible ID, unable to add more items', topic],
  ['ERR Elements are too large to be stored', permanent],
  ['ERR string exceeds maximum allowed size (proto-max-bulk-len)', permanent],
  ["ERR unknown command 'EVAL', with args beginning with: ", transport],
];

test.each(said)('%s', (answer, failure) => {
  expect(meaningOf(answer)).toMatchObject(failure);
});

test('every code of the table is tested here', () => {
  const codes = said.map(([answer]) => answer.split(' ')[0]).filter((code) => code !== 'ERR');
  expect(codes).toEqual(Object.keys(redisAnswers));
});

test('an unlisted error reply is ambiguous', () => {
  expect(meaningOf('ERR upstream failure')).toEqual({
    kind: 'outcome',
    outcome: { kind: 'ambiguous', error: 'ERR upstream failure' },
  });
  expect(meaningOf('')).toMatchObject({ kind: 'outcome', outcome: { kind: 'ambiguous' } });
});

test.each([
  ["@user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.\r\n", /^OOM command.*\.$/],
  ["-READONLY You can't write against a read only replica.", /^READONLY You/],
  [
    "ERR unknown command 'XADD', with args beginning with: 'orders' '4242\n' ",
    /^ERR unknown command 'XADD'$/,
  ],
])('what scripts add, and arguments, which have the message, are removed: %s', (answer, reason) => {
  expect(meaningOf(answer)).toMatchObject({ kind: 'hold', hold: { reason: expect.stringMatching(reason) } });
});

test.each([
  "@user_script: 9: The user executing the script can't run this command or subcommand",
  "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
])('a permission that is missing in a script is missing for the user: %s', (answer) => {
  expect(meaningOf(answer)).toMatchObject(topic);
});
