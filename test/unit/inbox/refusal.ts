import { OutboxError } from '../../../src/core/errors.ts';

/** What a reading is refused with, thrown or rejected. */
export async function refusalOf(reading: () => unknown): Promise<OutboxError> {
  try {
    await reading();
  } catch (error) {
    if (error instanceof OutboxError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}
