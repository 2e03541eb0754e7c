import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Verdict } from '../kafka/scripted-broker.ts';
import type { LaneModel, ModelMessage } from './lane-model.ts';
import type { LaneWorld, SeenMessage } from './lane-world.ts';

/** One action, on the model and on the real lane. */
type Command = fc.AsyncCommand<LaneModel, LaneWorld>;

/** Runs the action on both sides, then compares the visible state. */
function command(text: string, act: (model: LaneModel, world: LaneWorld) => Promise<void>): Command {
  return {
    check: () => true,
    run: async (model, world) => {
      await act(model, world);
      assert.deepEqual((await world.messages()).toSorted(byLabel), seen(model).toSorted(byLabel));
      assert.deepEqual(world.log, model.log);
    },
    toString: () => text,
  };
}

/** A command on one of the existing messages; without any it does nothing. */
function onMessage(
  name: string,
  act: (model: LaneModel, world: LaneWorld, message: ModelMessage) => Promise<void>,
  among: (model: LaneModel) => readonly ModelMessage[] = ({ messages }) => messages,
): fc.Arbitrary<Command> {
  return fc.nat(20).map((choice) =>
    command(`${name}(${choice})`, async (model, world) => {
      const messages = among(model);
      const message = messages[choice % Math.max(1, messages.length)];
      if (message !== undefined) await act(model, world, message);
    }),
  );
}

/** Those that operators decide about: among all messages they are so rare that whole runs would have none. */
function failed({ messages }: LaneModel): readonly ModelMessage[] {
  return messages.filter(({ state }) => state === 'failed');
}

const key = fc.constantFrom('a', 'b', null);
const ref = fc.constantFrom('r', 's', null);
const delay = fc.constantFrom(undefined, undefined, 1, 5);
const verdicts = fc.array(
  fc.constantFrom<Verdict>(
    'store',
    'store',
    'reject',
    'permanent',
    'store-silently',
    'lose',
    'hold',
    'hold-on-wire',
  ),
  { maxLength: 6 },
);

const expiry = fc.constantFrom(undefined, undefined, undefined, 1, 3, 6);
const send = fc.tuple(key, ref, delay, expiry).map(([k, r, after, expires]) =>
  command(`send(${k}, ${r}, ${after}, ${expires})`, async (model, world) => {
    const label = `m${model.messages.length + 1}`;
    assert.equal(await world.send(label, k, r, after, expires), model.send(label, k, r, after, expires));
  }),
);

const drain = fc.tuple(verdicts, fc.integer({ min: 0, max: 5 })).map(([script, dice]) =>
  command(`drain(${script.join(' ')}${dice === 0 ? ', crash' : ''})`, async (model, world) => {
    model.drain(script, dice === 0);
    await world.drain(script, dice === 0);
  }),
);

const advance = fc.integer({ min: 1, max: 5 }).map((minutes) =>
  command(`advance(${minutes})`, async (model, world) => {
    model.advance(minutes);
    await world.advance(minutes);
  }),
);

const sweep = fc.constant(
  command('sweep', async (model, world) => {
    model.sweep();
    await world.sweep();
  }),
);

const expire = fc.constant(
  command('expire', async (model, world) => {
    model.expire();
    await world.expire();
  }),
);

const turnLeaf = fc.constant(command('turn leaf', (_, world) => world.turnLeaf()));

const cancelByRef = fc.constantFrom('r', 's').map((named) =>
  command(`cancel(${named})`, async (model, world) => {
    const message = model.ofRef(named);
    assert.equal(
      await world.cancel({ ref: named }),
      message === undefined ? 'unknown' : model.cancel(message),
    );
  }),
);

const cancel = onMessage('cancel', async (model, world, message) => {
  assert.equal(await world.cancel({ id: world.idOf(message.label) }), model.cancel(message));
});

const reschedule = fc.constantFrom(0, 2, 7).chain((after) =>
  onMessage(`reschedule to ${after}`, async (model, world, message) => {
    assert.equal(await world.reschedule(message.label, after), model.reschedule(message, after));
  }),
);

const withdraw = onMessage('withdraw', async (model, world, message) => {
  assert.equal(await world.withdraw(message.label), model.withdraw(message));
});

const retry = onMessage('retry', async (model, world, message) => {
  assert.equal(await world.retry(message.label), model.retry(message));
});

async function editMessage(model: LaneModel, world: LaneWorld, message: ModelMessage): Promise<void> {
  const copy = `m${model.messages.length + 1}`;
  assert.equal(await world.edit(message.label, copy), model.edit(message, copy));
}

const edit = onMessage('edit', editMessage);

const editFailed = onMessage('edit failed', editMessage, failed);

async function discardMessage(model: LaneModel, world: LaneWorld, message: ModelMessage): Promise<void> {
  assert.equal(await world.discard(message.label), model.discard(message));
}

const discard = onMessage('discard', discardMessage);
const discardFailed = onMessage('discard failed', discardMessage, failed);

/** Every command, the frequent ones more than once. */
export const laneCommands: fc.Arbitrary<Command>[] = [
  send,
  send,
  send,
  drain,
  drain,
  advance,
  sweep,
  expire,
  turnLeaf,
  turnLeaf,
  cancelByRef,
  cancel,
  reschedule,
  withdraw,
  retry,
  edit,
  editFailed,
  editFailed,
  discard,
  discardFailed,
  discardFailed,
];

function seen(model: LaneModel): SeenMessage[] {
  return model.messages.map(({ label, state, attempts, maybePublished }) => ({
    label,
    state,
    attempts,
    maybePublished,
  }));
}

function byLabel(a: SeenMessage, b: SeenMessage): number {
  return a.label.localeCompare(b.label);
}
