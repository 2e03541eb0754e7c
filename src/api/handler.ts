import type { OperationsConfig } from '../app/operations/operations.ts';
import { servedOperations } from '../app/operations/served-operations.ts';
import { configNames } from '../config/config.ts';
import { type Logger, troublesTo } from '../config/logger.ts';
import { isObject } from '../core/options/collections.ts';
import { assertOptions, optionTable } from '../core/options/option-table.ts';
import { matching, shaped, unchecked } from '../core/options/values.ts';
import { requirePackages } from '../core/packages.ts';
import type { Authentication } from './authentication.ts';
import type { Router } from './router.ts';

/** Options of the API. */
export interface ApiOptions {
  /** Proves who makes a request. Without it there is no API. */
  readonly authentication: Authentication;
  /** The path under which it is mounted, such as `/outbox`; request paths must still have it. @defaultValue none */
  readonly basePath?: string;
  /** Gets requests that failed by a fault of the server. @defaultValue one line of JSON each on standard error */
  readonly logger?: Logger | false;
}

/** A fetch handler. */
export interface ApiHandler {
  /** Answers one request. Never rejects. */
  (request: Request): Promise<Response>;
  /** Ends open streams; each client connects again by itself. */
  endStreams(): void;
  /** Ends open streams, then closes the connections. */
  close(): Promise<void>;
}

const options = optionTable('apiHandler()', {
  authentication: shaped(
    'what proves who makes a request: without it everybody could change messages',
    (given): given is Authentication => isObject(given) && typeof Reflect.get(given, 'caller') === 'function',
  ),
  basePath: matching(/^(?:\/[\w.-]+)*$/, 'a path such as "/outbox"', ''),
  logger: unchecked,
});

/**
 * The operations of one installation as an HTTP API: a fetch handler for Hono and its like; `apiListener()` makes one for Node's servers of it.
 * `GET /openapi.json` describes it. Connections are opened when first needed.
 *
 * Every request is proved by `authentication`, has the right that the table of operations names, and sees only the topics of its
 * caller. What is changed, revealed or denied is in the audit.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_PACKAGE_MISSING`
 */
export function apiHandler(config: OperationsConfig, given: ApiOptions): ApiHandler {
  assertOptions('apiHandler()', config, configNames);
  const { authentication, basePath } = options.read(given);
  const report = troublesTo(given.logger);
  requirePackages('api');
  const served = servedOperations(config);
  let made: Router | undefined;
  // Loaded on demand, so that its packages are needed by its users only.
  const routes = async (): Promise<Router> => {
    const { createRouter } = await import('./router.ts');
    made ??= createRouter({ served, authentication, basePath, report });
    return made;
  };
  const endStreams = (): void => made?.close();
  let closed: Promise<void> | undefined;
  return Object.assign(async (request: Request) => (await routes()).fetch(request), {
    endStreams,
    close() {
      endStreams();
      closed ??= Promise.all([served.close(), authentication.close?.()]).then(() => undefined);
      return closed;
    },
  });
}
