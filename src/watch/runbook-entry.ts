/** What somebody who is called at night must know of an alert. */
export interface RunbookEntry {
  /** What is wrong, and what that costs. */
  readonly means: string;
  /** Usual causes, the most frequent first: how each is seen, and what to do then. */
  readonly causes: readonly { readonly seen: string; readonly todo: string }[];
  /** What makes it worse, after `Do not`. */
  readonly avoid: string;
}

/** The page with all of them, from the root of the package. */
const page = 'docs/runbook.md';

/** Where the section of an alert is. A heading of Markdown has its text in lower case as its anchor. */
export function runbookOf(alert: string): string {
  return `${page}#${alert.toLowerCase()}`;
}
