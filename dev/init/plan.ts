import { installArgument, partPackages } from '../../src/core/package-lines.ts';
import type { ReadFolder } from './folder.ts';
import { managers } from './lock-files.ts';
import type { Project } from './project.ts';
import { constantOf, type NewFile, newFiles } from './written-files.ts';

/** A file of the plan. One that exists stays as it is. */
export interface PlannedFile extends NewFile {
  readonly exists: boolean;
}

/** A script for package.json. One of this name that is there stays as it is. */
export interface PlannedScript {
  readonly name: string;
  readonly command: string;
  /** The command that package.json has under this name; absent: none. */
  readonly existing?: string;
}

/** Everything that `init` will do, and what remains to be done by hand. */
export interface InitPlan {
  readonly project: Project;
  readonly files: readonly PlannedFile[];
  readonly scripts: readonly PlannedScript[];
  /** Commands that install what package.json does not name yet. */
  readonly install: readonly string[];
  /** Commands to run then, and what each is for. */
  readonly next: readonly { readonly command: string; readonly what: string }[];
}

/** @param topic name of the first topic */
export function planInit(folder: ReadFolder, project: Project, topic: string): InitPlan {
  const files = newFiles(project, topic).map((file) => ({
    ...file,
    exists: folder.text(file.path) !== undefined,
  }));
  return {
    project,
    files,
    scripts: scriptsOf(project, files),
    install: installCommands(project),
    next: nextSteps(project, topic),
  };
}

function scriptsOf(project: Project, files: readonly NewFile[]): readonly PlannedScript[] {
  const consumer = files.find(({ path }) => /(?:^|\/)consume\.[jt]s$/.test(path))?.path ?? '';
  const commands = {
    'outbox:servers': 'temporal-outbox servers',
    'outbox:migrate': 'temporal-outbox migrate --create',
    'outbox:relay': 'temporal-outbox relay',
    'outbox:consume': `${readsTypeScript(project) ? 'tsx' : 'node'} ${consumer}`,
  };
  return Object.entries(commands).map(([name, command]) => {
    const existing = project.scripts[name];
    return existing === undefined ? { name, command } : { name, command, existing };
  });
}

function readsTypeScript({ database, language }: Project): boolean {
  return language === 'typescript' || (database.kind === 'prisma' && database.generates === 'typescript');
}

function installCommands(project: Project): readonly string[] {
  const { database, packageManager, packages } = project;
  const { add, addForDevelopment } = managers[packageManager];
  const wanted = [
    'temporal-outbox',
    ...[...partPackages.temporal.packages, ...partPackages.kafka.packages, 'zod' as const].map(
      installArgument,
    ),
  ];
  if (database.kind === 'prisma' && database.adapter)
    wanted.push(`@prisma/adapter-pg@${database.major ?? 'latest'}`);
  const tools = readsTypeScript(project) ? ['tsx@4'] : [];
  if (project.language === 'typescript' && database.kind === 'pg') tools.push('@types/pg@8');
  const missing = (names: readonly string[]) =>
    names.filter((name) => !packages.has(name.replace(/(?<=.)@[^@]+$/, '')));
  return [[add, missing(wanted)] as const, [addForDevelopment, missing(tools)] as const].flatMap(
    ([command, names]) => (names.length === 0 ? [] : [`${command} ${names.join(' ')}`]),
  );
}

/** Without `--config` commands take the source, also after a build. */
const built = {
  command: 'temporal-outbox relay --config dist/outbox.config.js',
  what: 'in production, after your build',
};

function nextSteps({ language, packageManager }: Project, topic: string): InitPlan['next'] {
  const { run } = managers[packageManager];
  return [
    { command: `${run} outbox:servers`, what: 'PostgreSQL, Temporal and Kafka for development' },
    { command: `${run} outbox:migrate`, what: 'the schema "outbox", and the topics' },
    { command: `${run} outbox:relay`, what: 'delivers' },
    { command: `${run} outbox:consume`, what: 'handles' },
    { command: `await send(tx, ${constantOf(topic)}, { id })`, what: 'in your transaction' },
    ...(language === 'typescript' ? [built] : []),
  ];
}
