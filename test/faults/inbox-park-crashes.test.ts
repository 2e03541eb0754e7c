import { expect, inject, test } from 'vitest';
import type { CrashPoint } from '../../src/core/crash-point.ts';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { until } from '../support/fixtures/until.ts';
import { startProgram } from '../support/processes/program.ts';

// The heartbeat of a try that died with its process is missed after five seconds.
const withinMs = 400_000;

const feeds = [
  { n: 1, key: 'a' },
  { n: 2, key: 'a' },
  { n: 3, key: 'b' },
];

/** By default the message fails once in place and is parked, and the later tries succeed. */
const steps: readonly (readonly [
  CrashPoint,
  { readonly failures?: number; readonly retry?: readonly number[] },
])[] = [
  ['inbox:parking', {}],
  ['inbox:park-written', {}],
  ['inbox:parked', {}],
  // Due only after its workflow was started: a stand-in comes first otherwise.
  ['inbox:key-started', { retry: [10_000, 50, 50, 50] }],
  ['inbox:try-begun', {}],
  ['inbox:try-handled', {}],
  ['inbox:try-committed', {}],
  ['inbox:try-failed', { failures: 2 }],
  ['inbox:given-up', { failures: 9, retry: [50] }],
];

test.concurrent.for(steps)(
  'F17 a consumer killed at %s leaves each effect once and the key in order',
  { tags: ['effect-once'], timeout: withinMs },
  async ([point, { failures = 1, retry = [50, 50, 50, 50] }], { onTestFinished }) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    const { group, url } = inbox;
    const signal = await startProgram('fed-main', {
      group,
      url,
      feeds,
      retry,
      quickRetries: [],
      failing: 1,
      failures,
      temporalAddress: inject('temporalAddress'),
      crash: { point, pass: 1 },
    }).exited;
    expect(signal).toBe('SIGKILL');

    // That consumer committed no offset: the broker delivers everything again.
    inbox.feed(...feeds);
    const gaveUp = point === 'inbox:given-up';
    const next = await inbox.consume({
      name: 'next',
      quickRetries: [],
      retry,
      before: ({ attempt, payload: { n } }) => {
        if (n === 1 && attempt <= failures) throw new Error('the bank is closed');
      },
    });
    await until(async () => (await next.status()).lag === 0 && (await inbox.parkedKeys()) === 0, 240_000);

    const effects = await inbox.effects();
    expect(effects.toSorted((a, b) => a - b)).toEqual(gaveUp ? [2, 3] : [1, 2, 3]);
    expect(effects.filter((n) => n < 3)).toEqual(gaveUp ? [2] : [1, 2]);
    expect(await inbox.kept()).toMatchObject(gaveUp ? [{ n: 1, state: 'failed' }] : []);
  },
);
