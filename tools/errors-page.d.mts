/** The page docs/errors.md of these rules. */
export function errorsPage(
  rules: Readonly<Record<string, { readonly next: string; readonly retryable: boolean }>>,
): string;
