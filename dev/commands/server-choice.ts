import { OutboxError } from '../../src/core/errors.ts';
import { type OptionalServer, optionalServers, type ServerChoice } from '../servers/index.ts';

/** What `servers` and `dev` are told about which servers to start. */
export interface ChoiceFlags {
  readonly with?: readonly string[];
  readonly without?: readonly string[];
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` for a name that is not known */
export function choiceOf({ with: also = [], without = [] }: ChoiceFlags): ServerChoice {
  return {
    also: also.map((name) => checkedName('with', optionalServers, name)),
    withoutKafka: without.map((name) => checkedName('without', ['kafka'], name)).length > 0,
  };
}

function checkedName<Name extends OptionalServer | 'kafka'>(
  option: 'with' | 'without',
  known: readonly Name[],
  value: string,
): Name {
  const name = known.find((one) => one === value);
  if (name !== undefined) return name;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} knows ${known.join(', ')}, and not "${value}".`,
    { details: { option, value } },
  );
}
