import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OffsetReader, PassedTimes } from '../../../src/relay/passed-times.ts';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** A broker whose log and group a test moves by hand, and a clock that counts its questions. */
class Ledger implements OffsetReader {
  readonly questions: string[] = [];
  log = new Map<number, string>();
  group = new Map<number, string>();
  time = 0;

  async committed(): Promise<ReadonlyMap<number, string>> {
    this.questions.push('group');
    return new Map(this.group);
  }

  async ends(): Promise<ReadonlyMap<number, string>> {
    this.questions.push('ends');
    return new Map(this.log);
  }

  readonly clock = async (): Promise<string> => {
    this.questions.push('clock');
    this.time += 1;
    return `time ${this.time}`;
  };
}

function stage() {
  const ledger = new Ledger();
  const times = new PassedTimes(ledger, ledger.clock);
  return { ledger, ask: () => times.passed('shop', 'orders') };
}

test('a group that has reached the ends has passed what was published before they were read', async () => {
  const { ask, ledger } = stage();
  ledger.log = new Map([[0, '9']]);
  ledger.group = new Map([[0, '9']]);

  expect(await ask()).toMatchObject({ before: 'time 1' });

  expect(ledger.questions).toEqual(['clock', 'ends', 'group']);
});

test('a group that is behind in one partition, or has come to nothing there, has passed nothing', async () => {
  const { ask, ledger } = stage();
  ledger.log = new Map([
    [0, '9'],
    [1, '3'],
  ]);
  for (const group of [[], [[0, '9'] as const], [[0, '9'] as const, [1, '2'] as const]]) {
    ledger.group = new Map(group);
    expect(await ask()).toMatchObject({ before: undefined, soon: true });
  }
});

test('a group in constant traffic passes the ends that were noted first', async () => {
  const { ask, ledger } = stage();
  ledger.log = new Map([[0, '9']]);
  ledger.group = new Map([[0, '5']]);
  await ask();

  ledger.log = new Map([[0, '20']]);
  ledger.group = new Map([[0, '10']]);
  expect(await ask()).toMatchObject({ before: 'time 1', soon: true });

  ledger.group = new Map([[0, '20']]);
  expect(await ask()).toMatchObject({ before: 'time 3' });
});

test('a group that has not passed the ends within ten seconds is behind, and keeps what it has passed', async () => {
  const { ask, ledger } = stage();
  await ask();
  ledger.log = new Map([[0, '9']]);
  await ask();

  await pass(9_999);
  expect(await ask()).toMatchObject({ before: 'time 1', soon: true });
  await pass(1);
  expect(await ask()).toMatchObject({ before: 'time 1', soon: false });
});

test('ends of an address that was created again are noted anew', async () => {
  const { ask, ledger } = stage();
  ledger.log = new Map([[0, '900']]);
  await ask();

  ledger.log = new Map([[0, '2']]);
  ledger.group = new Map([[0, '2']]);
  expect(await ask()).toMatchObject({ before: 'time 2' });
});

test('after the clock was set back nothing counts as passed that was published since', async () => {
  const { ask, ledger } = stage();
  ledger.time = 7;
  ledger.log = new Map([[0, '9']]);
  ledger.group = new Map([[0, '9']]);
  expect(await ask()).toMatchObject({ before: 'time 8' });
  // Another mark, which the group has yet to pass.
  ledger.log = new Map([[0, '10']]);
  expect(await ask()).toMatchObject({ before: 'time 8' });

  ledger.time = 0;
  ledger.log = new Map([[0, '20']]);
  ledger.group = new Map([[0, '10']]);
  expect(await ask()).toMatchObject({ before: undefined });
  ledger.group = new Map([[0, '20']]);
  expect(await ask()).toMatchObject({ before: 'time 1' });
});
