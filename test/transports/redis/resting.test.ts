import { expect, onTestFinished, test } from 'vitest';
import type { IncomingBatch } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins, numbersOf } from './member.ts';
import { proxied, serverUrl } from './redis-subject.ts';
import { claimAfterMs, group, range, sourceAt, stage } from './sharing.ts';

/** Longer than the time after which others claim: so long that they look in between, and so long that one of them has it. */
const [lookedAtMs, claimedMs] = [3 * claimAfterMs, 2 * claimAfterMs];

/** Rejects the third of the first ten messages once, and acknowledges all others. */
function rejectingOne(afterMs: number) {
  let refused = false;
  return (batch: IncomingBatch): void => {
    for (const message of batch.messages) {
      if (!refused && numbersOf([message])[0] === 3) {
        refused = true;
        batch.reject(message, afterMs);
      } else batch.acknowledge(message);
    }
  };
}

test('a rejected message rests with its member, and all others go on, also with this member', async () => {
  const { address, client, open, send } = await stage();
  await send(10);
  const member = await joins(sourceAt(serverUrl), address, { take: rejectingOne(lookedAtMs) });
  await member.has(10);
  await until(async () => (await open()) === 1);
  const resting = async () => (await client.xPendingRange(address, group, '-', '+', 1))[0];
  const id = (await resting())?.id;
  await send(10);
  await member.has(20);
  // A search for entries to claim finds it, too.
  const found = (await resting())?.deliveriesCounter ?? 0;
  await until(async () => ((await resting())?.deliveriesCounter ?? 0) > found);
  await send(10);
  await member.has(30);

  await until(async () => (await open()) === 0);
  expect(numbersOf(member.received)).toEqual([...range(10), ...range(10), ...range(10), 3]);
  expect(member.received.at(-1)?.offset).toBe(id);
});

test('a rejected message of a member that is cut off goes to another, and does not come back', async () => {
  const { proxy, url } = await proxied(serverUrl);
  onTestFinished(() => proxy.close());
  const { address, open, send } = await stage();
  await send(10);
  const cut = await joins(sourceAt(url), address, { take: rejectingOne(claimedMs) });
  await cut.has(10);
  const endMs = performance.now() + claimedMs;
  await until(async () => (await open()) === 1);
  const other = await joins(sourceAt(serverUrl), address);

  proxy.inject({ kind: 'blackhole' });
  await other.has(1);
  expect(numbersOf(other.received)).toEqual([3]);
  proxy.heal();
  await until(() => performance.now() > endMs && cut.isReading());
  await other.stop();
  await send(10);
  await cut.has(20);
  expect(numbersOf(cut.received)).toEqual([...range(10), ...range(10)]);
});

test('a member with a batch of rejected messages takes no more, and another has the rest', async () => {
  const { address, open, send } = await stage();
  await send(10);
  const full = await joins(sourceAt(serverUrl), address, {
    take: (batch) => {
      for (const message of batch.messages) batch.reject(message, 60_000);
    },
  });
  await full.has(10);
  const other = await joins(sourceAt(serverUrl), address);
  await send(30);
  await other.has(30);
  await until(async () => (await open()) === 10);
  expect(full.received).toHaveLength(10);
});
