import { OutboxError } from '../core/errors.ts';
import { judged, type Reader, type Refuse } from '../core/options/reader.ts';

const refuse: Refuse = (problems) => {
  const issues = problems.map(({ instead, path, what }) => ({
    setting: path === '' ? '(whole)' : path,
    problem: instead === undefined ? what : `${what}: ${instead}`,
  }));
  return new OutboxError(
    'OUTBOX_CONFIG_INVALID',
    `The configuration is invalid: ${issues.map((issue) => `${issue.setting} ${issue.problem}`).join('; ')}.`,
    { details: { issues } },
  );
};

/**
 * Checks settings and fills in the defaults.
 *
 * @param setting name of the setting that contains them; empty for the whole configuration
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong one
 */
export function readConfig<Value>(reader: Reader<Value>, given: unknown, setting = ''): Value {
  return judged(refuse, () => reader.read(given, { path: setting, refuse }));
}
