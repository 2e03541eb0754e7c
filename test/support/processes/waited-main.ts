import { writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

// Loaded before another program: says at its end how long it has waited since SIGTERM, with nothing to do. On a busy machine
// that is all that a program can promise.
process.once('SIGTERM', () => {
  const told = performance.eventLoopUtilization();
  process.once('exit', () => {
    writeSync(2, `\nwaited ${Math.round(performance.eventLoopUtilization(told).idle)} ms\n`);
  });
});
