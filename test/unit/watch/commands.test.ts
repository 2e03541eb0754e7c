import { expect, test } from 'vitest';
import { alertRules } from '../../../src/watch/rules.ts';

test.each(Object.entries(alertRules))(
  'the command that the rule %s suggests has a foreign name as one word',
  (_name, { next }) => {
    const commands = ['group', 'topic'].map((kind) => next(`${kind} a;\nrm -rf ~`));
    for (const command of commands.filter((one) => one.includes('rm')))
      expect(command).toContain(`'a;?rm -rf ~'`);
  },
);

test('the commands of these rules have such a name', () => {
  const naming = Object.entries(alertRules).filter(([, { next }]) =>
    ['group', 'topic'].some((kind) => next(`${kind} of-somebody`).includes('of-somebody')),
  );
  expect(naming.map(([rule]) => rule)).toEqual(['unannounced', 'failed', 'parked', 'clock']);
});
