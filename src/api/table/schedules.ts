import { OutboxError } from '../../core/errors.ts';
import { scheduleTable } from '../../operations/schedules/schedules.ts';
import { pathChangeRequest, readRequest } from '../declared-request.ts';
import { type Call, type Operation, operation } from '../operation.ts';

/** Operations on repeating messages. */
export const scheduleRoutes: readonly Operation[] = [
  operation({
    ...readRequest(scheduleTable.list),
    name: 'listSchedules',
    path: '/schedules',
    answer: 'Schedules',
    run: async ({ at, scope }) => ({
      schedules: (await at.schedules.list()).filter(({ topic }) => scope.sees(topic)),
    }),
  }),
  ...(
    [
      ['pause', 'Changed'],
      ['resume', 'Changed'],
      ['run', 'ScheduleRun'],
      ['remove', 'Changed'],
    ] as const
  ).map(([step, answer]) =>
    operation({
      ...pathChangeRequest(scheduleTable[step]),
      name: `${step}Schedule`,
      path: `/schedules/{name}/${step}`,
      answer,
      async run(call, { body, path: { name } }) {
        await requireSeenSchedule(call, name);
        return call.at.schedules[step](name, call.author(body));
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
