/** Generates docs/errors.md from src/core/errors.ts. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The page: each code, whether the same call may succeed later, and what to do. */
export function errorsPage(rules) {
  return `# Errors

Generated from \`src/core/errors.ts\` by \`npm run generated\`; do not edit. Every error of the library is an \`OutboxError\` with
\`code\`, \`message\`, \`details\`, \`retryable\` (the same call may succeed later) and \`next\`, what to do. Codes are stable, texts
are not. Commands print the code and what to do, and answer with exit code 1 or 2; with \`--json\` as data.

| code | retryable | what to do |
| --- | --- | --- |
${Object.entries(rules)
  .map(
    ([code, { next, retryable }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${next.replaceAll('|', String.raw`\|`)} |`,
  )
  .join('\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { errorRules } = await import('../dist/src/core/errors.js');
  writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsPage(errorRules));
}
