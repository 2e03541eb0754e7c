import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RedisClient } from '../../../../src/brokers/redis/client/open-client.ts';
import { redisClient } from '../../../../src/brokers/redis/client/redis-package.ts';
import type { QueueRead } from '../../../../src/brokers/redis/source/queue.ts';
import { readingTogether } from '../../../../src/brokers/redis/source/shared-reading.ts';
import { StreamQueue } from '../../../../src/brokers/redis/source/stream-queue.ts';
import { readingAlone } from '../../../../src/brokers/redis/source/stream-reading.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const bytes = (text: string): Buffer => Buffer.from(text);
const entry = (id: string, payload = 'x') => [bytes(id), [bytes('payload'), bytes(payload)]] as const;
type Entry = ReturnType<typeof entry>;

/** What the script for open entries answers to the member that has the lease. */
const open = (last: string, entries: readonly Entry[] = []) => [
  bytes(''),
  bytes(last),
  bytes('1-0'),
  [],
  entries,
];
/** What the transaction answers that reads new entries. */
const fresh = (last: string, entries: readonly Entry[] = []) => [
  [bytes(''), bytes(last), bytes('9-0'), 0],
  entries.length === 0 ? null : { orders: entries },
];
const refusal = (text: string): Error => new (redisClient().ErrorReply)(text);

/** Scripts are long, and told by what they do. */
function kindOf(script: string): string {
  return script.includes('XREADGROUP') ? 'OPEN' : 'PLACE';
}

const claimAfterMs = 60_000;
const place = { address: 'orders', group: 'stock' };
const lease = { holder: 'stock/1', leaseMs: 6_000 };

/** A queue, and a server that gives these answers to its reads in turn; every other command is answered with 0. */
function stage({
  answers = [] as readonly unknown[],
  fromBeginning = true,
  reading = readingAlone(place),
} = {}) {
  const left = [...answers];
  const commands: string[][] = [];
  const failing = new Map<string, Error>();
  const client = {
    async sendCommand(command: readonly string[], options?: object): Promise<unknown> {
      const [name = '', script = ''] = command;
      const failure = failing.get(name);
      const told = name === 'EVAL' ? kindOf(script) : name;
      commands.push([told, ...command.slice(name === 'EVAL' ? 2 : 1)]);
      if (failure !== undefined) throw failure;
      if (told !== 'OPEN' && told !== 'EXEC') return 0;
      expect(options).toEqual({ typeMapping: { [redisClient().RESP_TYPES.BLOB_STRING]: Buffer } });
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as RedisClient;
  const queue = new StreamQueue({ ...place, fromBeginning, claimAfterMs, reading });
  return {
    queue,
    client,
    commands,
    failing,
    names: () => commands.splice(0).map(([name]) => name),
    read: (most = 10) => queue.read(client, lease, most),
  };
}

const reads = ['MULTI', 'PLACE', 'XREADGROUP', 'EXEC'];
const idsOf = (read: QueueRead): readonly string[] | undefined =>
  read.kind === 'mine' ? read.messages.map(({ offset }) => offset) : undefined;

test('open entries are requested only at first, after `reread`, and when entries of others may be claimed', async () => {
  const { commands, names, queue, read } = stage({
    answers: [
      open('2-0'),
      fresh('2-0', [entry('3-0'), entry('4-0')]),
      fresh('4-0'),
      open('4-0'),
      fresh('4-0'),
      fresh('4-0'),
      open('4-0'),
      fresh('4-0'),
    ],
  });

  await read();
  names();
  await read();
  const usual = names();
  queue.reread();
  await read();
  const again = commands[0];
  const reread = names();
  vi.advanceTimersByTime(claimAfterMs - 1);
  await read();
  const before = names();
  vi.advanceTimersByTime(1);
  await read();
  const claimed = commands[0];

  expect(usual).toEqual(reads);
  expect(queue.readsOn, 'nothing new comes with open entries').toBe(false);
  expect(reread).toEqual(['OPEN', ...reads]);
  expect(again?.at(-1)).toBe('');
  expect(before).toEqual(reads);
  expect(claimed?.at(-1)).toBe('60000');
});

test('without order the search for open entries goes on where it was, and from the beginning after `reread`', async () => {
  const { commands, queue, read } = stage({
    answers: [
      open('4-0', [entry('1-0'), entry('2-0')]),
      open('4-0', [entry('3-0')]),
      open('4-0', [entry('1-0')]),
    ],
    reading: readingTogether(place),
  });
  await read();
  await read();
  queue.reread();
  await read();

  const asked = commands.filter(([name]) => name === 'OPEN');
  expect(asked.map((command) => command.at(-1))).toEqual(['0', '2-0', '0']);
});

test('a group deleted with its stream is created from the beginning, to miss nothing', async () => {
  const { commands, names, read } = stage({
    fromBeginning: false,
    answers: [
      open('5-0'),
      fresh('5-0'),
      // What a transaction has refused is among its answers.
      [fresh('')[0], refusal('NOGROUP No such key')],
      fresh('0-0', [entry('1-0')]),
      open('1-0', [entry('1-0')]),
    ],
  });
  await read();
  names();

  expect(idsOf(await read())).toEqual(['1-0']);
  expect(commands[4]).toEqual(['XGROUP', 'CREATE', 'orders', 'stock', '0', 'MKSTREAM']);
});

test('a group that another member has just created is used; every other error is reported', async () => {
  const { failing, read } = stage({
    answers: [refusal('NOGROUP x'), open('0-0', [entry('1-0')]), refusal('NOGROUP x'), new Error('closed')],
  });
  failing.set('XGROUP', refusal('BUSYGROUP Consumer Group name already exists'));
  expect(idsOf(await read())).toEqual(['1-0']);

  failing.set('XGROUP', refusal('NOPERM'));
  await expect(read()).rejects.toThrow('NOPERM');
  await expect(read()).rejects.toThrow('closed');
});

test.each(['MULTI', 'EXEC'])('a transaction whose %s fails is reported', async (name) => {
  const { failing, read } = stage({ answers: [open('1-0'), fresh('1-0')] });
  failing.set(name, refusal('READONLY'));

  await expect(read()).rejects.toThrow('READONLY');
});

test('open entries are read first, then new ones, each with the lease and the group', async () => {
  const { commands, read } = stage({
    answers: [open('2-0', [entry('1-0'), entry('2-0', 'four')]), open('2-0'), fresh('2-0', [entry('3-0')])],
  });

  const first = await read(5);
  const second = await read(3_000);

  expect(first).toMatchObject({ kind: 'mine', bytes: 7 + 1 + 7 + 4, notices: [] });
  expect([first, second].map(idsOf)).toEqual([['1-0', '2-0'], ['3-0']]);
  const keys = ['2', 'orders:reader:stock', 'orders'];
  expect(commands).toEqual([
    ['OPEN', ...keys, 'stock/1', '6000', 'stock', 'temporal-outbox', '5', '60000'],
    ['OPEN', ...keys, 'stock/1', '6000', 'stock', 'temporal-outbox', '2000', ''],
    ['MULTI'],
    ['PLACE', ...keys, 'stock/1', '6000', 'stock'],
    ['XREADGROUP', 'GROUP', 'stock', 'temporal-outbox', 'COUNT', '2000', 'STREAMS', 'orders', '>'],
    ['EXEC'],
  ]);
});
