import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
} from '@temporalio/client';

/** A schedule as the server has it; `undefined`: it has none with this id. */
export async function describeSchedule(
  client: Client,
  scheduleId: string,
): Promise<ScheduleDescription | undefined> {
  try {
    return await client.schedule.getHandle(scheduleId).describe();
  } catch (error) {
    return absent(error);
  }
}

/** Creates a schedule, unless another relay was faster. */
export async function createSchedule(
  client: Client,
  schedule: Parameters<Client['schedule']['create']>[0],
): Promise<void> {
  try {
    await client.schedule.create(schedule);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/** Deletes a schedule, if there is one. */
export async function deleteSchedule(client: Client, scheduleId: string): Promise<void> {
  await client.schedule.getHandle(scheduleId).delete().catch(absent);
}

function absent(error: unknown): undefined {
  if (!(error instanceof ScheduleNotFoundError)) throw error;
  return undefined;
}
