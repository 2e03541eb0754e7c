import { expect, test } from 'vitest';
import { runCommand } from '../../../dev/servers/process/run-command.ts';

test('a line that comes in parts, each on its own stream, is one line', async () => {
  const lines: string[] = [];
  const script = `
    const { stdout, stderr } = process;
    const parts = [[stdout, 'comp'], [stderr, 'down'], [stdout, 'iled\\n'], [stderr, 'loaded\\n\\n'], [stdout, 'end']];
    const next = () => { const part = parts.shift(); if (part) part[0].write(part[1], () => setTimeout(next, 20)); };
    next();`;
  const output = await runCommand(process.execPath, ['-e', script], {
    env: process.env,
    onLine: (line) => lines.push(line),
  });

  expect(lines.toSorted()).toEqual(['compiled', 'downloaded', 'end']);
  expect(output).toContain('end');
});
