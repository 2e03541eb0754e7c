import { expect, test } from 'vitest';
import { labelled } from '../../../src/watch/commands.ts';
import type { AlertRule } from '../../../src/watch/figure.ts';
import { alertRules } from '../../../src/watch/figures.ts';

const rules = Object.entries<AlertRule>(alertRules);

test.each(rules)(
  'the command that the rule %s suggests has a foreign name as one word',
  (_name, { next, of }) => {
    const commands = of.map((labels) => next(labelled(labels, () => 'a;\nrm -rf ~')));
    for (const command of commands.filter((one) => one.includes('rm')))
      expect(command).toContain(`'a;?rm -rf ~'`);
  },
);

test('the commands of these rules have such a name', () => {
  const naming = rules.filter(([, { next, of }]) =>
    of.some((labels) => next(labelled(labels, () => 'of-somebody')).includes('of-somebody')),
  );
  expect(naming.map(([rule]) => rule)).toEqual(['unannounced', 'failed', 'parked', 'clock']);
});
