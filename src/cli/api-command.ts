import type { Authentication } from '../api/authentication.ts';
import { apiHandler } from '../api/handler.ts';
import { isLoopback, loopbackAuthentication } from '../api/loopback.ts';
import { serveApi } from '../api/serve.ts';
import { type Config, requireDatabase } from '../config/config.ts';
import { OutboxError } from '../core/errors.ts';
import { currentHost } from './host.ts';
import { loadConfig } from './load-config.ts';
import { exitCodes, type Output } from './output.ts';
import { explainEnd, processLog } from './process-log.ts';
import type { CommonFlags } from './register.ts';
import { systemUser } from './system-user.ts';

/** Flags of the command `api`. */
export interface ApiFlags extends CommonFlags {
  readonly port: string;
  readonly host: string;
  readonly withoutSignIn?: boolean;
}

/** Options that are no flags. */
interface ApiCommandOptions {
  /** Writes its log as text, else as lines of JSON. @defaultValue text on a terminal */
  readonly asText?: boolean;
}

/** Serves the HTTP API until the signal fires. Its log goes to standard output, whole and in one form. */
export async function apiCommand(
  flags: ApiFlags & { readonly config: string },
  output: Output,
  signal: AbortSignal,
  { asText = currentHost().stdout.isTTY ?? false }: ApiCommandOptions = {},
): Promise<number> {
  const log = processLog('temporal-outbox api', output, asText && !output.json);
  try {
    const port = portOf(flags.port);
    const config = requireDatabase(await loadConfig(flags.config), 'The HTTP API');
    const authentication = authenticationOf(config, flags);
    const handler = apiHandler(config, { authentication, logger: log });
    const running = await serveApi(handler, { host: flags.host, port });
    const url = `http://${flags.host.includes(':') ? `[${flags.host}]` : flags.host}:${running.port}`;
    const answering = `The API answers at ${url}, described by ${url}/openapi.json.`;
    if (asText && !output.json) output.line(`${answering} Stop with Ctrl-C.`);
    else log.info({ event: 'ready', url }, answering);
    if (!signal.aborted) {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    log.info({ event: 'stopping' }, 'stopping');
    await running.stop();
    log.info({ event: 'stopped' }, 'stopped');
    return exitCodes.ok;
  } catch (error) {
    return explainEnd(error, log, output, asText);
  }
}

/** @throws OutboxError `OUTBOX_CONFIG_MISSING`, `OUTBOX_COMMAND_INVALID`: nothing is served without authentication by mistake */
function authenticationOf({ api }: Config, { host, withoutSignIn = false }: ApiFlags): Authentication {
  if (!withoutSignIn) {
    if (api !== undefined) return api.authentication;
    throw new OutboxError(
      'OUTBOX_CONFIG_MISSING',
      'The HTTP API needs the setting "api.authentication"; on your own machine, --without-sign-in.',
      { details: { setting: 'api.authentication' } },
    );
  }
  if (isLoopback(host)) return loopbackAuthentication(systemUser());
  throw new OutboxError(
    'OUTBOX_COMMAND_INVALID',
    '--without-sign-in is for a loopback address only: --host 127.0.0.1.',
  );
}

function portOf(given: string): number {
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port <= 65_535) return port;
  throw new OutboxError('OUTBOX_COMMAND_INVALID', 'The option --port is not a port, 0 to 65535.');
}
