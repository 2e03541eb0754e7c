import type { ReportProgress } from '../local-options.ts';

const reportEveryMs = 5_000;

/**
 * Runs one step of work and reports its start, its end, and every 5 s that it is still running.
 *
 * `work` gets a function that sets the latest detail, which is shown with the next report.
 */
export async function progressStep<T>(
  tell: ReportProgress,
  label: string,
  work: (detail: (text: string) => void) => Promise<T>,
): Promise<T> {
  const beganAtMs = performance.now();
  const seconds = () => Math.round((performance.now() - beganAtMs) / 1000);
  let latest = '';
  tell(`${label} …`);
  const timer = setInterval(() => {
    tell(`${label}: ${seconds()} s${latest === '' ? '' : ` (${latest.slice(0, 80)})`}`);
  }, reportEveryMs);
  try {
    const result = await work((text) => {
      latest = text;
    });
    tell(`${label}: done after ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
