import type * as OpenTelemetry from '@opentelemetry/api';

/** The package `@opentelemetry/api`, which finds the SDK that the process has set up, if any. */
export type Api = typeof OpenTelemetry;

let api: Api | undefined;
let loading: Promise<Api | undefined> | undefined;

/** Loads it once; `undefined` if it is not installed. */
export function loadApi(): Promise<Api | undefined> {
  loading ??= import('@opentelemetry/api').then(
    (loaded) => (api = loaded),
    () => undefined,
  );
  return loading;
}

/** What {@link loadApi} has loaded so far. */
export function loadedApi(): Api | undefined {
  return api;
}
