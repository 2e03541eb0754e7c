// @module-tag apart
import { expect, inject, onTestFinished, test } from 'vitest';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';
import { ReadmeProject, type Started } from '../../support/processes/readme-project.ts';

test('the program of README runs in an empty folder by the lines of README, and shows the delayed message', {}, async () => {
  const empty = await createEmptyDatabase();
  onTestFinished(() => empty.drop());
  const project = await ReadmeProject.create();
  onTestFinished(() => project.remove());
  project.env = { DATABASE_URL: empty.url, TEMPORAL_ADDRESS: inject('temporalAddress') };
  let printed = () => '';

  for (const { ownTerminal, text } of project.commands) {
    const [, names] = /^npm install (?:--save-dev )?(?<names>.+)$/.exec(text) ?? [];
    if (names !== undefined) {
      await project.install(names.split(' '));
      continue;
    }
    const started = project.start(text);
    printed = started.said;
    if (ownTerminal) {
      await shown(started, /Temporal UI/);
      const lines = [...started.said().matchAll(/^export (?<name>\w+)='(?<value>.*)'$/gm)];
      project.env = Object.fromEntries(lines.map(([, name, value]) => [name, value]));
      expect(project.env).toMatchObject({ DATABASE_URL: empty.url });
    } else if (text.startsWith('npx tsx')) await shown(started, /order \S+ was canceled/);
    else expect(await started.exited, `${text}: ${started.said()}`).toBe(0);
  }

  const orders = await empty.database.query<{ id: string; status: string }>('select id, status from "Order"');
  expect(orders).toEqual([{ id: expect.any(String), status: 'CANCELED' }]);
  const [id] = orders.map((order) => order.id);
  expect(printed()).toBe(`order ${id} was placed\norder ${id} was canceled; Ctrl-C ends this\n`);
});

/** A failure says what the program has said. */
async function shown({ exited, said }: Started, text: RegExp): Promise<void> {
  let over = false;
  void exited.then(() => (over = true));
  await until(() => over || text.test(said()), 120_000).catch(() => undefined);
  expect(said()).toMatch(text);
}
