import { expect, test } from 'vitest';
import { togetherMs, WaitingMessages } from '../../../src/inbox/intake/waiting-messages.ts';

test.each([
  [0, true],
  [togetherMs, true],
  [togetherMs + 1, false],
])('messages that others follow after %i ms wait for them as one offer: %s', (gapMs, together) => {
  const waiting = new WaitingMessages(1_000);
  waiting.offered(['a', 'b'], 0);
  waiting.leave(['b'], 0, 500 + gapMs);

  // Those that are not offered together with these are what these rest for, so one of both holds at each distance.
  expect(waiting.othersCome(['a'], 500)).toBe(together);
  expect(waiting.leave(['a'], 500, 200)).toBe(together ? 200 : gapMs);
});
