import { expect, test } from 'vitest';
import { OutboxError } from '../../../../src/core/errors.ts';
import { unknownIn } from '../../../../src/core/options/collections.ts';

test('an unknown option is told each name once, although several shapes have it', () => {
  const [problem] = unknownIn({ due: 1 }, ['action', 'at', 'action', 'to'], {
    path: '',
    refuse: () => new OutboxError('OUTBOX_OPTION_INVALID', 'It is refused.'),
  });
  expect(problem?.instead).toBe('use one of action, at, to');
});
