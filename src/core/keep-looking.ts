import { looking } from './loop.ts';
import { aborted } from './rest.ts';

/** Runs a loop of {@link looking} until the signal fires. @param look must not reject */
export async function keepLooking(
  look: () => Promise<void>,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const loop = looking(look, everyMs);
  loop.start();
  await aborted(signal);
  await loop.stop();
}
