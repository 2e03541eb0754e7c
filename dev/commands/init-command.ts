import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { exitCodes, type Output } from '../../src/cli/output.ts';
import { topic as checkedTopic } from '../../src/core/topic.ts';
import { carryOut, type InitWritten } from '../init/carry-out.ts';
import { folderAt } from '../init/folder.ts';
import { type InitPlan, planInit } from '../init/plan.ts';
import { type Project, projectIn } from '../init/project.ts';
import { type GitState, gitStateOf, undoCommand } from '../init/undo.ts';

/** What `temporal-outbox init` is to do. */
export interface InitRequest {
  /** The project, a folder with a package.json. */
  readonly folder: string;
  /** Name of the first topic. */
  readonly topic: string;
  /** Write without a question. */
  readonly yes: boolean;
}

/** Shows what it will write into a project, asks, and writes. With `--json` and without `--yes` it only shows. */
export async function initCommand({ folder, topic, yes }: InitRequest, output: Output): Promise<number> {
  assertTopicName(topic);
  const read = folderAt(folder);
  const plan = planInit(read, projectIn(read, path.basename(folder)), topic);
  const git = await gitStateOf(folder);
  show(plan, git, output);
  const isNew =
    plan.files.some(({ exists }) => !exists) || plan.scripts.some(({ existing }) => existing === undefined);
  if (!isNew) return end(plan, { files: [], scripts: [] }, output, 'Nothing to write.');
  if (!yes && output.json) {
    output.value(answerOf(plan, undefined));
    return exitCodes.ok;
  }
  if (!yes && !(await agrees('Write this? [y/N] '))) {
    output.trouble('Nothing was written. To write it without a question: --yes');
    return exitCodes.failed;
  }
  const written = await carryOut(folder, plan);
  const undo = git === 'committed' ? `\nTo undo it: ${undoCommand(written)}` : '';
  const changed = [...written.files, ...(written.scripts.length > 0 ? ['package.json'] : [])];
  return end(plan, written, output, `Wrote ${changed.join(', ')}.${undo}`);
}

function end(plan: InitPlan, written: InitWritten, output: Output, said: string): number {
  output.line(said);
  const steps = plan.next.map(({ command, what }) => `  ${command.padEnd(longest(plan))}  # ${what}`);
  output.line(['', 'Next:', ...plan.install.map((command) => `  ${command}`), ...steps].join('\n'));
  output.value(answerOf(plan, written));
  return exitCodes.ok;
}

const longest = ({ next }: InitPlan): number => Math.max(...next.map(({ command }) => command.length));

function show(plan: InitPlan, git: GitState, output: Output): void {
  output.line(`Found: ${inWords(plan.project)}.\n`);
  for (const { exists, path: file, text } of plan.files)
    output.line(exists ? `${file} exists, and stays as it is.\n` : `${file}, new:\n\n${indented(text)}\n`);
  const added = plan.scripts.filter(({ existing }) => existing === undefined);
  const scripts = added.map(({ command, name }) => `"${name}": "${command}"`).join('\n');
  if (added.length > 0) output.line(`package.json, new scripts:\n\n${indented(scripts)}\n`);
  for (const { command, existing, name } of plan.scripts)
    if (existing !== undefined && existing !== command)
      output.line(`The script ${name} exists, and stays as it is. It would be: ${command}\n`);
  if (git === 'changed')
    output.line('package.json has changes that are not committed; git cannot undo the scripts alone.\n');
  if (git === 'none') output.line('package.json is not in a git repository; nothing undoes this but you.\n');
}

function inWords({ database, language, modules, packageManager }: Project): string {
  const parts = [
    database.kind === 'prisma' ? 'Prisma' : 'pg',
    language === 'typescript' ? 'TypeScript' : 'JavaScript',
    modules === 'esm' ? 'ES modules' : 'CommonJS',
    packageManager,
  ];
  return parts.join(', ');
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, '  ');
}

function answerOf({ files, install, next, project, scripts }: InitPlan, written: InitWritten | undefined) {
  const { packages: _packages, scripts: _scripts, ...found } = project;
  return { ok: true, project: found, files, scripts, install, next, written: written ?? null };
}

/** Reads one line. An input that has ended, as that of a script has, is no. */
async function agrees(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once('close', () => resolve(''));
      lines.question(question).then(resolve, reject);
    });
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/** @throws OutboxError `OUTBOX_TOPIC_INVALID` */
function assertTopicName(name: string): void {
  checkedTopic(name, {
    '~standard': { version: 1, vendor: 'temporal-outbox', validate: (value) => ({ value }) },
  });
}
