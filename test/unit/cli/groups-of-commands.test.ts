import { expect, test } from 'vitest';
import { registerDevelopmentCommands } from '../../../dev/commands/development-commands.ts';
import { commandTree } from '../../../src/cli/run-program.ts';

test('a group of commands alone lists, and its help says so', async () => {
  const root = commandTree([registerDevelopmentCommands]);
  const groups = root.commands.filter(({ commands }) => commands.length > 0);
  expect(groups.map((one) => one.name())).toEqual(['bulk', 'schedules', 'inbox', 'alerts']);
  for (const group of groups) {
    const list = group.commands.find((one) => one.name() === 'list');
    expect(list?.description()).toMatch(/ \(the default\)$/);
    let listed = 0;
    list?.action(() => void (listed += 1));
    group.configureOutput({ writeErr: () => undefined });
    await root.parseAsync([group.name()], { from: 'user' }).catch(() => undefined);
    expect([group.name(), listed]).toEqual([group.name(), 1]);
  }
});
