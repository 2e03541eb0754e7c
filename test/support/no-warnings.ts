import { afterAll, beforeAll } from 'vitest';

/** What Node warned of while the file ran. */
const warnings: Error[] = [];
const take = (warning: Error): void => {
  warnings.push(warning);
};

beforeAll(() => {
  process.on('warning', take);
});

// The suites of other Node versions fail on a warning; here it is found an hour sooner.
afterAll(() => {
  process.off('warning', take);
  if (warnings.length > 0) throw new AggregateError(warnings, `Node warned: ${warnings.join('; ')}`);
});
