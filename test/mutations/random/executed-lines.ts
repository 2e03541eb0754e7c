import { SourceMap, type SourceMapPayload } from 'node:module';

/** What V8 says about a function: ranges of its code and how often they ran, inner ones within outer ones. */
export interface FunctionCounts {
  readonly ranges: readonly {
    readonly startOffset: number;
    readonly endOffset: number;
    readonly count: number;
  }[];
}

/** The lines of a source that ran, by the counts of the code that was made of it and the map at the end of that code. */
export function executedLines(code: string, functions: readonly FunctionCounts[]): readonly number[] {
  const map = mapOf(code);
  if (map === undefined) return [];
  const ranges = functions
    .flatMap((one) => one.ranges)
    .toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const lines = new Set<number>();
  const around: (typeof ranges)[number][] = [];
  let next = 0;
  for (const { line, column, at } of starts(code)) {
    for (
      let range = ranges[next];
      range !== undefined && range.startOffset <= at;
      range = ranges[(next += 1)]
    )
      around.push(range);
    while (around.length > 0 && (around.at(-1)?.endOffset ?? 0) <= at) around.pop();
    if ((around.at(-1)?.count ?? 0) === 0) continue;
    const entry = map.findEntry(line, column);
    if ('originalLine' in entry) lines.add(entry.originalLine + 1);
  }
  return [...lines].toSorted((a, b) => a - b);
}

/** Where a line begins, or a statement within it: what was made of several lines may be on one. */
const statementStart = /^\s*\S|(?<=[;{})] |\belse )\S/g;

function* starts(
  code: string,
): Generator<{ readonly line: number; readonly column: number; readonly at: number }> {
  let start = 0;
  for (const [line, text] of code.split('\n').entries()) {
    for (const { 0: found, index } of text.matchAll(statementStart)) {
      const column = index + found.length - 1;
      yield { line, column, at: start + column };
    }
    start += text.length + 1;
  }
}

function mapOf(code: string): SourceMap | undefined {
  const base64 = code.match(/\/\/# sourceMappingURL=data:application\/json[^,]*;base64,([\w+/=]+)/)?.[1];
  if (base64 === undefined) return undefined;
  return new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) as SourceMapPayload);
}
