import { writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

// Loaded before another program: at exit, prints how long the process has been idle since SIGTERM. On a busy machine a
// program can promise no more than that.
process.once('SIGTERM', () => {
  const told = performance.eventLoopUtilization();
  process.once('exit', () => {
    writeSync(2, `\nwaited ${Math.round(performance.eventLoopUtilization(told).idle)} ms\n`);
  });
});
