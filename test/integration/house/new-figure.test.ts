// @module-tag apart
import { expect, test } from 'vitest';
import type * as figures from '../../../src/watch/figures.ts';
import type * as rules from '../../../src/watch/prometheus-rules.ts';
import type * as settings from '../../../src/watch/settings.ts';
import { edited, inCopy, moduleOf, typeErrorsIn } from './compiled-overlay.ts';

/** A figure that somebody adds: how much a group keeps. */
const file = `import type { AlertRule } from '../figure.ts';

export const hoard: AlertRule = {
  meaning: 'messages that a group keeps, whatever their state',
  unit: 'messages',
  of: [['group']],
  measure: ({ groups }) =>
    groups.map(({ failed, group, parked }) => ({ of: { group }, figure: failed + parked })),
  metric: { name: 'outbox.hoard.messages' },
  threshold: 1_000,
  says: (figure, subject) => \`\${subject} keeps \${figure}\`,
  next: () => 'temporal-outbox inbox list',
  prometheus: { severity: 'warning', for: '5m' },
  runbook: {
    means: 'A group keeps many messages.',
    causes: [{ seen: 'one error', todo: 'Mend the handler.' }],
    avoid: 'discard them unread.',
  },
};
`;
const figure = new Map([
  ['src/watch/figures/hoard.ts', file],
  ...edited({
    'src/watch/figures.ts': [
      {
        after: "import { hold } from './figures/hold.ts';\n",
        line: "import { hoard } from './figures/hoard.ts';\n",
      },
      { after: '  hold,\n', line: '  hoard,\n' },
    ],
    'src/watch/settings.ts': [
      {
        after: 'export interface AlertSettings {\n',
        line: '  /** Messages that a group keeps. @defaultValue 1,000 */\n  readonly hoard?: number | false;\n',
      },
    ],
  }),
]);

test('a figure is written in three files, of which setting, metric, rule and pages follow', async () => {
  await inCopy(figure, async (folder) => {
    expect(figure.size).toBe(3);
    expect(await typeErrorsIn(folder, figure.keys())).toBe('');

    const { alertRuleNames, exportedFigures } = await moduleOf<typeof figures>(
      folder,
      'src/watch/figures.ts',
    );
    expect(alertRuleNames).toContain('hoard');
    expect(exportedFigures).toHaveProperty('hoard');
    const { alertOptions } = await moduleOf<typeof settings>(folder, 'src/watch/settings.ts');
    expect(alertOptions.schema).toHaveProperty('properties.hoard');
    const { prometheusRules } = await moduleOf<typeof rules>(folder, 'src/watch/prometheus-rules.ts');
    expect(JSON.stringify(prometheusRules())).toMatch(/outbox_hoard_messages.* > 1000/);
  });
}, 120_000);
