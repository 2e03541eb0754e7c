interface Row {
  readonly path: string;
  readonly summary: string;
  readonly role: string;
  readonly payloads?: true;
}

/** The page docs/http-api.md of these operations and streams. */
export function httpApiPage(
  operations: readonly (Row & { readonly method: string })[],
  streams: readonly Row[],
): string;
