import { expect, test } from 'vitest';
import { alertRules } from '../../../src/alerts/rules.ts';

test.each(Object.entries(alertRules))(
  'the command that the rule %s suggests has a foreign name as one word',
  (_name, { next }) => {
    for (const kind of ['group', 'topic']) {
      const command = next(`${kind} a; rm -rf ~`);
      if (command.includes('rm')) expect(command).toMatch(/'a; rm -rf ~'|# on a; rm -rf ~$/);
    }
  },
);
