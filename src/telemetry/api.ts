import type * as OpenTelemetry from '@opentelemetry/api';

/** The package `@opentelemetry/api`, which finds the SDK that the process has set up, if any. */
export type Api = typeof OpenTelemetry;

let api: Api | undefined;
let loading: Promise<Api | undefined> | undefined;

/** Loads it once; `undefined` if it is not installed, or older than 1.3. */
export function loadApi(): Promise<Api | undefined> {
  loading ??= Promise.resolve().then(() => (api = found()));
  return loading;
}

/** A bundler that does not find it warns only, because of the `try`; one that does bundles it with the program's own spans. */
function found(): Api | undefined {
  try {
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import is followed by bundlers, and fails where it is not installed
    const loaded = require('@opentelemetry/api') as Partial<Api>;
    // It has had metrics since 1.3.
    return isWhole(loaded) ? loaded : undefined;
  } catch {
    return undefined;
  }
}

function isWhole(loaded: Partial<Api>): loaded is Api {
  return loaded.metrics !== undefined && loaded.trace !== undefined;
}

/** What {@link loadApi} has loaded so far. */
export function loadedApi(): Api | undefined {
  return api;
}
