import { OutboxError } from '../../src/core/errors.ts';
import { type LocalPorts, projectName, requireFreePorts, usualPorts } from '../servers/index.ts';

/** What `servers` and `dev` are told about the servers that they keep. */
export interface KeptFlags {
  /** @defaultValue the name of the project in the current folder */
  readonly name?: string | undefined;
  /** As `kafka=9093`. */
  readonly ports?: readonly string[] | undefined;
}

/** Under which name servers keep their data, and on which ports they listen. @throws as {@link givenPorts} */
export async function keptOptions({ name = projectName(process.cwd()), ports }: KeptFlags) {
  return { keep: name, ports: { ...usualPorts, ...(await givenPorts({ ports })) } };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_SERVER_UNAVAILABLE` if such a port is taken */
export async function givenPorts({ ports = [] }: KeptFlags): Promise<LocalPorts> {
  const given = ports.map(parsed);
  await requireFreePorts(given);
  return Object.fromEntries(given);
}

function parsed(one: string): readonly [string, number] {
  const [server = '', text = ''] = one.split('=');
  const port = Number(text);
  if (!Object.hasOwn(usualPorts, server)) throw invalid(one, `knows ${Object.keys(usualPorts).join(', ')}`);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw invalid(one, 'takes ports from 1 to 65535');
  return [server, port];
}

function invalid(value: string, rule: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `--ports ${rule}, as in kafka=9093, and not "${value}".`, {
    details: { option: 'ports', value },
  });
}
