import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../docs/quick-start.md', import.meta.url), 'utf8');

/** The two applications that the page speaks of, by their headings. */
export type Kind = 'With Prisma' | 'In NestJS';

/** A line of a shell block. */
export interface Command {
  readonly text: string;
  /** Whether it runs on, while others are typed elsewhere. */
  readonly ownTerminal: boolean;
}

/** What a reader with one kind of application does. */
interface Steps {
  readonly commands: readonly Command[];
  /** Files to write, by their paths. */
  readonly files: ReadonlyMap<string, string>;
  /** How many commands the page announces. */
  readonly announced: number;
}

const blocks = /^#{2,3} (?<heading>[^\n]+)$|^```(?<language>\w+)\n(?<text>.*?)^```$/gms;

/** Reads the page as the owner of an application of this kind does, and skips what is for the other. */
export function stepsFor(kind: Kind): Steps {
  const commands: Command[] = [];
  const files = new Map<string, string>();
  let section = '';
  for (const { groups = {} } of page.matchAll(blocks)) {
    const { heading, language, text = '' } = groups;
    if (heading !== undefined) section = heading;
    else if (section.match(/^(?:With Prisma|In NestJS)$/) !== null && section !== kind) continue;
    else if (language === 'sh') commands.push(...text.trim().split('\n').map(commandOf));
    else files.set(/^\/\/ (?<path>[\w./-]+):/.exec(text)?.groups?.['path'] ?? '', text);
  }
  const words = kind === 'With Prisma' ? /(\d+) commands with Prisma/ : /(\d+) in NestJS/;
  return { commands, files, announced: Number(words.exec(page)?.[1]) };
}

function commandOf(line: string): Command {
  const [text = '', comment = ''] = line.split(/\s+# /);
  return { text, ownTerminal: comment.startsWith('in a terminal of its own') };
}
