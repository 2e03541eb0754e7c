import { onTestFinished } from 'vitest';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import type { DeadLetter, LetterOutcome } from '../../../src/inbox/parked/dead-letter.ts';
import { DeadLetters, type DeadLettersInput } from '../../../src/inbox/parked/dead-letters.ts';
import { writeWire } from '../../../src/store/inbox/wire.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { until } from '../../support/fixtures/until.ts';

/** A failed message as the database shows it. */
export const failed = (n: number, differs: object = {}) => ({
  id: `id-${n}`,
  position: String(n),
  topic: 'orders',
  address: 'orders',
  partition: 2,
  offset: `${n}0`,
  wire: writeWire({ key: 'k', headers: { ce_id: `id-${n}` } }),
  body: Buffer.from(`body ${n}`).toString('base64'),
  reason: 'error',
  error: 'Error: no',
  attempts: 3,
  ...differs,
});

type Answer = (letters: readonly DeadLetter[]) => readonly LetterOutcome[];

/** Copies what `rows` has, as the broker answers. */
export function lettersStage(
  rows: readonly ReturnType<typeof failed>[],
  given: Partial<DeadLettersInput> = {},
) {
  const database = new ScriptedClient();
  const events: ConsumerEvent[] = [];
  const sent: (readonly DeadLetter[])[] = [];
  const world = {
    rows,
    turn: true,
    closed: 0,
    answer: ((some) => some.map(() => ({ kind: 'taken' }))) as Answer,
  };
  database.on('from outbox.parked p', ([, addresses, after, limit]) =>
    world.rows
      .filter(
        ({ address, position }) => String(addresses).includes(address) && Number(position) > Number(after),
      )
      .slice(0, Number(limit)),
  );
  database.on('outbox.letter_turn as t', () => (world.turn ? [{}] : []));
  const letters = new DeadLetters({
    client: database.client,
    group: 'shop',
    addresses: ['orders', 'returns'],
    deadAddressOf: (address) => `${address}.dead`,
    sender: {
      send: async (some) => {
        sent.push(some);
        return world.answer(some);
      },
      close: async () => void (world.closed += 1),
    },
    report: (event) => events.push(event),
    paces: { lookMs: 3_600_000, firstAgainMs: 3_600_000, maxAgainMs: 3_600_000, turnMs: 3_600_000 },
    ...given,
  });
  onTestFinished(() => letters.stop());
  return {
    database,
    events,
    letters,
    sent,
    world,
    copied: () => database.said('set copied_at').map(([group, ids]) => [group, ids]),
    turns: () => database.said('outbox.letter_turn as t'),
    /** The end of a round. */
    over: (rounds = 1) =>
      until(() => database.said('delete from outbox.letter_turn').length >= rounds, 5_000, 1),
  };
}
