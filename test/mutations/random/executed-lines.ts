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
  let start = 0;
  for (const [n, line] of code.split('\n').entries()) {
    const column = line.search(/\S/);
    const at = start + column;
    start += line.length + 1;
    if (column === -1) continue;
    for (
      let range = ranges[next];
      range !== undefined && range.startOffset <= at;
      range = ranges[(next += 1)]
    )
      around.push(range);
    while (around.length > 0 && (around.at(-1)?.endOffset ?? 0) <= at) around.pop();
    if ((around.at(-1)?.count ?? 0) === 0) continue;
    const entry = map.findEntry(n, column);
    if ('originalLine' in entry) lines.add(entry.originalLine + 1);
  }
  return [...lines].toSorted((a, b) => a - b);
}

function mapOf(code: string): SourceMap | undefined {
  const base64 = code.match(/\/\/# sourceMappingURL=data:application\/json[^,]*;base64,([\w+/=]+)/)?.[1];
  if (base64 === undefined) return undefined;
  return new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) as SourceMapPayload);
}
