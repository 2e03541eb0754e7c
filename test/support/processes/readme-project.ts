import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../fixtures/until.ts';
import { writeSchemaEngine } from './schema-engine.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installed = (...names: readonly string[]) => path.join(root, 'node_modules', ...names);
/** What is built, but not published. */
const unpublished = new Set(['dist/bench', 'dist/test'].map((part) => path.join(root, part)));

/** A fenced code block of README. */
interface Block {
  readonly language: string;
  /** The name in its first line, `// name: what it is`; `undefined` without such a line. */
  readonly name: string | undefined;
  readonly text: string;
}

interface Manifest {
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** With these the program is compiled before it runs: `tsx` does not look at types. */
const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    outDir: 'built',
  },
  include: ['first.ts', 'generated'],
};

/** A program that was started by a command of README. */
export interface Started {
  /** Its output so far, from stdout and stderr. */
  readonly said: () => string;
  readonly exited: Promise<number | null>;
}

/** The folder of a reader of README. It has the packages that README installs, and no others. */
export class ReadmeProject {
  readonly #folder: string;
  readonly #blocks: readonly Block[];
  readonly #children: ChildProcess[] = [];
  readonly #engine: string;
  /** Variables of the commands that are started from now on. */
  env: Readonly<Record<string, string>> = {};

  private constructor(folder: string, blocks: readonly Block[], engine: string) {
    this.#folder = folder;
    this.#blocks = blocks;
    this.#engine = engine;
  }

  /** An empty folder, but for the files that README shows. */
  static async create(): Promise<ReadmeProject> {
    const readme = await readFile(path.join(root, 'README.md'), 'utf8');
    const temporary = await mkdtemp(path.join(tmpdir(), 'outbox-readme-'));
    const folder = path.join(temporary, 'first');
    await mkdir(folder);
    const project = new ReadmeProject(folder, blocksOf(readme), await writeSchemaEngine(temporary));
    for (const { name, text } of project.#blocks)
      if (name !== undefined) await writeFile(path.join(folder, name), text);
    return project;
  }

  /** The commands of README, without their comments; those of a terminal of its own run on. */
  get commands(): readonly { readonly text: string; readonly ownTerminal: boolean }[] {
    const script = this.#blocks.find(({ language, text }) => language === 'sh' && text.includes('npx tsx'));
    return (script?.text ?? '')
      .trim()
      .split('\n')
      .map((line) => line.split(/ +# /))
      .map(([text = '', comment = '']) => ({
        text,
        ownTerminal: comment.startsWith('in a terminal of its own'),
      }));
  }

  /** Does what `npm install` does, with packages of this repository: a test compares their versions with those of README. */
  async install(names: readonly string[]): Promise<void> {
    for (const wanted of names) {
      const name = wanted.replace(/(?<=.)@[\d.]+$/, '');
      // What runs the program instead is the compiler.
      if (name !== 'tsx') await (name === 'temporal-outbox' ? this.#copyOutbox() : this.#link(name));
    }
  }

  /** Starts a command of README in a shell; for `npx tsx`, the compiler and then the compiled file. */
  start(command: string): Started {
    const own = command.replace(/^npx tsx (?<name>\w+)\.ts$/, 'npx tsc -p . && exec node built/$<name>.js');
    const child = spawn('sh', ['-c', own], {
      cwd: this.#folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        PRISMA_SCHEMA_ENGINE_BINARY: this.#engine,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        ...this.env,
      },
    });
    this.#children.push(child);
    let said = '';
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => (said += data.toString()));
    const exited = once(child, 'close').then(() => child.exitCode);
    return { said: () => said, exited };
  }

  async remove(): Promise<void> {
    for (const child of this.#children) {
      const over = () => child.exitCode !== null || child.signalCode !== null;
      if (over() || child.pid === undefined) continue;
      process.kill(-child.pid, 'SIGKILL');
      await until(over, 10_000);
    }
    await rm(path.dirname(this.#folder), { recursive: true, force: true, maxRetries: 5 });
  }

  async #copyOutbox(): Promise<void> {
    const target = this.#module('temporal-outbox');
    for (const part of ['package.json', 'prisma', 'dist'])
      await cp(path.join(root, part), path.join(target, part), {
        recursive: true,
        filter: (source) => !unpublished.has(source),
      });
    const { dependencies } = await this.#addPrograms('temporal-outbox');
    for (const name of Object.keys(dependencies)) await this.#link(name);
    await writeFile(path.join(this.#folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  }

  async #link(name: string): Promise<void> {
    const target = this.#module(name);
    await mkdir(path.dirname(target), { recursive: true });
    await symlink(installed(name), target);
    await this.#addPrograms(name);
  }

  /** Links the programs of a package, for `npx`. */
  async #addPrograms(name: string): Promise<Manifest> {
    const manifest: Manifest = JSON.parse(
      await readFile(path.join(this.#module(name), 'package.json'), 'utf8'),
    );
    const { bin = {} } = manifest;
    await mkdir(this.#module('.bin'), { recursive: true });
    for (const [program, file] of Object.entries(typeof bin === 'string' ? { [name]: bin } : bin))
      await symlink(path.join(this.#module(name), file), path.join(this.#module('.bin'), program));
    return manifest;
  }

  #module(name: string): string {
    return path.join(this.#folder, 'node_modules', name);
  }
}

function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(?<language>\w+)\n(?<text>.*?)^```$/gms)].map(({ groups }) => {
    const text = groups?.['text'] ?? '';
    const name = /^\/\/ (?<name>[\w.-]+):/.exec(text)?.groups?.['name'];
    return { language: groups?.['language'] ?? '', name, text };
  });
}
