import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { ada, ownOperator } from '../../support/fixtures/operator.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';
import { written } from '../../support/fixtures/written.ts';

test.for([
  ['ready', {}],
  ['waiting', { afterMs: 60_000 }],
] as const)(
  'a topic that no relay has announced is told as such, also once its withdrawals have made a lane: %s messages',
  { tags: ['misspelled-topic-warned-of'] },
  async ([state, when]) => {
    const fixture = await ownLane();
    const { database } = fixture;
    const operator = ownOperator(fixture);
    await database.query('delete from outbox.lane');
    await database.query('delete from outbox.topic');
    await writeRelay(database, { ...quietRelay, id: randomUUID() });
    await fixture.send('withdrawn');
    await fixture.send('left', when);
    await database.query(
      `update outbox.message set created_at = created_at - interval '20 minutes', due_at = due_at - interval '20 minutes'
       where state::text = $1`,
      [state],
    );
    const row = async () => {
      const { stdout } = await written((output) => statusCommand({ database: fixture.url }, output));
      return stdout.split('\n').filter((line) => line.startsWith('orders'));
    };
    const told = [expect.stringMatching(/^orders +- .* no relay delivers this/)];

    expect(await row()).toEqual(told);
    expect(await operator.withdraw(operator.of('withdrawn'), ada)).toMatchObject([{ result: 'canceled' }]);

    expect(await database.query('select from outbox.lane')).toHaveLength(1);
    expect(await row()).toEqual(told);
    expect((await readFigures(database)).due).toMatchObject([{ topic: 'orders', announced: false }]);
  },
);
