import { expect, test } from 'vitest';
import { explain } from '../../../src/cli/output.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { written } from '../../support/fixtures/written.ts';

const clear = '\u001b[2J';

test.each([
  ['of a code', new OutboxError('OUTBOX_GROUP_UNKNOWN', `There is no group "a${clear}".\nThere is b.`)],
  ['of another library', new Error(`no topic "a${clear}".\nThere is b.`)],
])('an error %s enters no control characters into the terminal, and keeps its lines', async (_of, error) => {
  const { stderr } = await written(async (output) => explain(error, output));
  expect(stderr).toContain('"a\\u001b[2J".\nThere is b.');
  expect(stderr).not.toContain(clear);
});
