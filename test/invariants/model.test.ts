// @module-tag apart
import fc from 'fast-check';
import { test } from 'vitest';
import { type State, states } from '../../src/core/transitions.ts';
import { laneCommands } from '../support/model/commands.ts';
import { LaneModel } from '../support/model/lane-model.ts';
import { ModelDatabase } from '../support/model/lane-world.ts';
import { runs, seed } from '../support/model/settings.ts';

// Each with a clock of its own, side by side: a run waits for the database most of the time.
test.concurrent.for(['release-key', 'block-key'] as const)(
  `I9 after any sequence of changes to a lane (%s), every message is in the state given by the rules (seed ${seed})`,
  { tags: ['only-legal-states'], timeout: 300_000 },
  async (exhausted, { expect, onTestFinished }) => {
    const made = await ModelDatabase.create();
    onTestFinished(() => made.drop());
    let done = 0;
    const reached = new Set<State>();
    const property = fc.asyncProperty(
      fc.commands(laneCommands, { maxCommands: 36, size: 'max' }),
      // Behind full batches the next one is claimed while they are sent.
      fc.constantFrom(1, 2, 2_000, 2_000, 2_000),
      async (commands, batch) => {
        const world = await made.lane(exhausted, batch);
        try {
          const model = new LaneModel(exhausted, batch);
          await fc.asyncModelRun(() => ({ model, real: world }), commands);
          for (const { state } of model.messages) reached.add(state);
          done += 1;
        } finally {
          await world.clear();
        }
      },
    );
    await fc.assert(property, { seed, numRuns: runs / 2, endOnFailure: true });

    expect(done).toBe(runs / 2);
    // Receipts have tests of their own.
    expect(reached).toEqual(new Set(states.filter((state) => state !== 'confirmed')));
  },
);
