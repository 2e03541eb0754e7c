import { OutboxError } from '../../core/errors.ts';
import { asSentence, operationTexts } from '../../operations/descriptions.ts';
import { authored, shortName } from '../../operations/inputs/values.ts';
import type { OperationOptions } from '../../operations/operation-options.ts';
import { type Call, type Operation, operation } from '../operation.ts';

const byName = { name: shortName };

/** Operations on repeating messages. */
export const scheduleRoutes: readonly Operation[] = [
  operation({
    name: 'listSchedules',
    method: 'GET',
    path: '/schedules',
    summary: asSentence(operationTexts['schedules list']),
    role: 'viewer',
    way: 'read',
    answer: 'Schedules',
    run: async ({ at, scope }) => ({
      schedules: (await at.schedules.list()).filter(({ topic }) => scope.sees(topic)),
    }),
  }),
  ...(
    [
      ['pause', '', 'Changed'],
      ['resume', '', 'Changed'],
      ['run', '', 'ScheduleRun'],
      ['remove', ' A service that schedules it again brings it back.', 'Changed'],
    ] as const
  ).map(([step, particular, answer]) =>
    operation({
      name: `${step}Schedule`,
      method: 'POST',
      path: `/schedules/{name}/${step}`,
      summary: `${asSentence(operationTexts[`schedules ${step}`])}${particular}`,
      role: 'operator',
      way: 'change',
      once: true,
      params: byName,
      body: authored,
      answer,
      async run(call, { body, path: { name } }) {
        await requireSeenSchedule(call, name);
        const options: OperationOptions = call.author(body);
        return call.at.schedules[step](name, options);
      },
    }),
  ),
];

async function requireSeenSchedule({ at, scope }: Call, name: string): Promise<void> {
  if (!scope.limited) return;
  const found = (await at.schedules.list()).find((one) => one.name === name);
  scope.require(
    found?.topic,
    new OutboxError('OUTBOX_SCHEDULE_UNKNOWN', `There is no schedule "${name}".`, {
      details: { schedule: name },
    }),
  );
}
