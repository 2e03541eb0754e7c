import type { Hold } from './transport.ts';

/** The hold of what was not sent before the signal of its batch fired. */
export const givenUp: Hold = {
  scope: 'topic',
  reason: 'The relay gave up the batch before all of it was sent.',
};
