// @module-tag apart
import { expect, test } from 'vitest';
import type * as openapi from '../../../src/api/openapi.ts';
import type * as table from '../../../src/api/table/table.ts';
import type { Operations, OperationsConfig } from '../../../src/app/operations/operations.ts';
import type * as program from '../../../src/cli/run-program.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { edited, inCopy, moduleOf, typeErrorsIn } from './compiled-overlay.ts';

/** An operation that somebody adds: pauses a schedule, or ends its pause. */
const operation = edited({
  'src/operations/schedules/schedules.ts': [
    {
      after: '  remove(name: string, options: OperationOptions): Promise<ScheduleChange>;\n',
      line: '  /** Pauses it if it runs, and resumes it if it is paused. */\n  toggle(name: string, options: OperationOptions): Promise<ScheduleChange>;\n',
    },
    {
      after: 'export const scheduleTable = {\n',
      line: `  toggle: {
    text: 'pause a schedule that runs, resume one that is paused',
    ...change,
    async run({ database }, name, options) {
      const found = (await listSchedules(database)).find((one) => one.name === name);
      return pauseSchedule(database, name, found?.paused === false, options);
    },
  },
`,
    },
  ],
  'src/api/table/schedules.ts': [{ after: "['resume', 'Changed'],\n", line: "['toggle', 'Changed'],\n" }],
  'src/cli/schedule-commands.ts': [
    { after: "['resume', 'Resume', 'resumed'],\n", line: "['toggle', 'Toggle', 'toggled'],\n" },
  ],
});

test('a plain operation is written in three files, of which function, request, command and description follow', async () => {
  const made = await createTestDatabase();
  try {
    await made.database.query(
      `insert into outbox.schedule (name, topic, payload, every_ms, catch_up_ms) values ('nightly', 'reports', '1', 3600000, 60000)`,
    );
    await inCopy(operation, async (folder) => {
      expect(operation.size).toBe(3);
      expect(await typeErrorsIn(folder, operation.keys())).toBe('');

      const at = (await operationsOf(folder))({ database: { url: made.url } });
      await at.schedules.toggle('nightly', { actor: 'ada' });
      expect(await at.schedules.list()).toMatchObject([{ name: 'nightly', paused: true }]);
      await expect(at.schedules.toggle('nightly', { actor: 'ada', dryrun: true })).rejects.toThrow(
        '"dryrun"',
      );
      await at.close();

      expect(await requestOf(folder, 'toggleSchedule')).toMatchObject({
        path: '/schedules/{name}/toggle',
        role: 'operator',
        summary: 'Pause a schedule that runs, resume one that is paused.',
      });
      expect(await documentOf(folder)).toContain('"/schedules/{name}/toggle"');
      expect(await helpOf(folder, 'schedules')).toContain('toggle [options] <name>');
    });
  } finally {
    await made.drop();
  }
}, 120_000);

interface Toggling extends Omit<Operations, 'schedules'> {
  readonly schedules: Operations['schedules'] & {
    toggle(name: string, options: object): Promise<unknown>;
  };
}

interface TogglingModule {
  readonly operations: (config: OperationsConfig) => Toggling;
}

async function operationsOf(folder: string): Promise<TogglingModule['operations']> {
  return (await moduleOf<TogglingModule>(folder, 'src/operations.ts')).operations;
}

async function tableOf(folder: string): Promise<typeof table.operationTable> {
  return (await moduleOf<typeof table>(folder, 'src/api/table/table.ts')).operationTable;
}

async function requestOf(folder: string, wanted: string): Promise<unknown> {
  return (await tableOf(folder)).find(({ name }) => name === wanted);
}

async function documentOf(folder: string): Promise<string> {
  const { openApiOf } = await moduleOf<typeof openapi>(folder, 'src/api/openapi.ts');
  return JSON.stringify(openApiOf(await tableOf(folder), [], '1'));
}

async function helpOf(folder: string, group: string): Promise<string> {
  const { commandTree } = await moduleOf<typeof program>(folder, 'src/cli/run-program.ts');
  return (
    commandTree([])
      .commands.find((one) => one.name() === group)
      ?.helpInformation() ?? ''
  );
}
