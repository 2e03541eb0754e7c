import { expect, test } from 'vitest';
import { Gathering } from '../../../src/inbox/intake/gathering.ts';

const orders = { address: 'orders', partition: 0 };

function bench() {
  const clock = { ms: 0 };
  const gathering = new Gathering({ size: 3, waitMs: 1_000 }, () => clock.ms);
  return {
    clock,
    offer: (ids: string, partition = orders) => gathering.gather(partition, ids.split('')),
    gathering,
  };
}

test('messages that do not fill a batch wait, and go together when the first has waited long enough', () => {
  const { clock, offer } = bench();
  expect(offer('a')).toEqual({ now: 0, againMs: 250 });
  clock.ms = 900;
  expect(offer('ab')).toEqual({ now: 0, againMs: 100 });
  clock.ms = 1_000;
  expect(offer('ab')).toEqual({ now: 2, againMs: 0 });
});

test('a full batch goes at once, and what is left over waits from then on', () => {
  const { clock, offer } = bench();
  offer('ab');
  clock.ms = 600;
  expect(offer('abcd')).toEqual({ now: 3, againMs: 250 });
  clock.ms = 1_400;
  expect(offer('d')).toEqual({ now: 0, againMs: 200 });
  clock.ms = 1_600;
  expect(offer('d')).toEqual({ now: 1, againMs: 0 });
  expect(offer('efghij')).toEqual({ now: 6, againMs: 0 });
});

test('what was let go and is offered again does not wait again, and what is behind it does', {
  tags: ['batch-fills-or-ends'],
}, () => {
  const { offer } = bench();
  offer('abc');
  expect(offer('bc')).toEqual({ now: 2, againMs: 0 });
  expect(offer('cd')).toEqual({ now: 1, againMs: 250 });
  expect(offer('d')).toEqual({ now: 0, againMs: 250 });
});

test('partitions wait on their own, and those that are gone are forgotten', () => {
  const { clock, gathering, offer } = bench();
  const other = { address: 'orders', partition: 1 };
  offer('a');
  clock.ms = 500;
  offer('x', other);
  clock.ms = 1_000;
  expect(offer('x', other)).toMatchObject({ now: 0 });
  expect(offer('a')).toMatchObject({ now: 1 });

  offer('b');
  gathering.keepOnly([other]);
  clock.ms = 2_000;
  expect(offer('a')).toMatchObject({ now: 0 });
  expect(offer('x', other)).toMatchObject({ now: 1 });
});

test('where each offer has another part of what waits, each message waits on its own, until they come together', () => {
  const { clock, offer } = bench();
  expect(offer('a')).toEqual({ now: 0, againMs: 250 });
  clock.ms = 120;
  expect(offer('b'), 'back with the first').toEqual({ now: 0, againMs: 130 });
  clock.ms = 252;
  expect(offer('a'), 'the other is about to come').toEqual({ now: 0, againMs: 0, holdMs: 20 });
  clock.ms = 272;
  expect(offer('ab')).toEqual({ now: 0, againMs: 250 });
  clock.ms = 300;
  expect(offer('c')).toEqual({ now: 0, againMs: 222 });
  clock.ms = 1_000;
  expect(offer('bc')).toEqual({ now: 0, againMs: 120 });
  expect(offer('a')).toEqual({ now: 1, againMs: 0 });
  clock.ms = 1_130;
  expect(offer('bc').holdMs ?? 0, 'the one that has gone is not waited for').toBe(0);
});

test('a message that went to another consumer meanwhile is forgotten', () => {
  const { clock, offer } = bench();
  offer('a');
  clock.ms = 70_000;
  expect(offer('b')).toEqual({ now: 0, againMs: 250 });
  expect(offer('a')).toEqual({ now: 0, againMs: 250 });
});

test('an offer that the source has cut does not wait: full batches go, and less than one goes as it is', () => {
  const { clock, gathering, offer } = bench();
  const cut = { ...orders, cut: true };
  expect(gathering.gather(cut, ['a', 'b'])).toEqual({ now: 2, againMs: 0 });
  expect(gathering.gather(cut, ['c', 'd', 'e', 'f']), 'the rest begins the next offer').toEqual({
    now: 3,
    againMs: 0,
  });
  clock.ms = 400;
  expect(offer('f'), 'and waits there').toEqual({ now: 0, againMs: 250 });
  clock.ms = 1_000;
  expect(offer('f')).toEqual({ now: 1, againMs: 0 });
});
