import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LiveStatus } from '../../../src/api/live/live-status.ts';
import type { Status } from '../../../src/operations/delivery/status.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const status = { lanes: [] } as unknown as Status;

test('the status is read every two seconds for any number of subscribers, and not at all for none', async () => {
  let looks = 0;
  const live = new LiveStatus(async () => {
    looks += 1;
    return status;
  });
  const heard = [0, 0, 0];
  const ends = heard.map((_, index) => live.subscribe(() => (heard[index] = (heard[index] ?? 0) + 1)));
  await vi.advanceTimersByTimeAsync(9_000);
  expect(looks).toBe(5);
  expect(heard).toEqual([5, 5, 5]);

  for (const end of ends) end();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toBe(5);
  live.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(100);
  expect(looks).toBe(6);
});

test('a late subscriber is told the last status at once, and subscribers that come and go cause no further looks', async () => {
  let looks = 0;
  const live = new LiveStatus(async () => {
    looks += 1;
    return status;
  });
  live.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  let told = 0;
  for (let round = 0; round < 50; round += 1) live.subscribe(() => (told += 1))();
  expect(told).toBe(50);
  await vi.advanceTimersByTimeAsync(900);
  expect(looks).toBe(1);
});

test('a look that takes longer than two seconds is not joined by another, and a failure is told', async () => {
  let open = 0;
  let most = 0;
  const live = new LiveStatus(async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    open -= 1;
    throw new Error('away');
  });
  const news: object[] = [];
  live.subscribe((one) => news.push(one));
  live.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(most).toBe(1);
  expect(news).toHaveLength(3);
  expect(news[0]).toHaveProperty('error');
});
