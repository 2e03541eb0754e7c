import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installed = (...names: readonly string[]) => path.join(root, 'node_modules', ...names);

/** A fenced code block of a document. */
interface Block {
  readonly language: string;
  /** The name in its first line, `// name: what it is`; `undefined` without such a line. */
  readonly name: string | undefined;
  readonly text: string;
}

/** What README leaves to the project: the compiler options, and the output folder of Prisma's client. */
const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    outDir: 'built',
  },
  include: ['*.ts', 'generated'],
};
const prismaHead = `generator client {
  provider     = "prisma-client"
  output       = "./generated"
  moduleFormat = "esm"
}
datasource db {
  provider = "postgresql"
}
`;

/** A program that was started by a command of README. */
export interface Started {
  /** Its output so far, from stdout and stderr. */
  readonly said: () => string;
  readonly exited: Promise<number | null>;
}

/** A project with the files of README, whose install commands have installed the packages of this repository. */
export class ReadmeProject {
  readonly folder: string;
  readonly blocks: readonly Block[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string, blocks: readonly Block[], env: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.blocks = blocks;
    this.#env = env;
  }

  static async create(env: Readonly<Record<string, string>>): Promise<ReadmeProject> {
    const readme = await readFile(path.join(root, 'README.md'), 'utf8');
    const folder = await mkdtemp(path.join(tmpdir(), 'outbox-readme-'));
    const project = new ReadmeProject(folder, blocksOf(readme), env);
    await mkdir(path.join(folder, 'node_modules'));
    const packages = [...readme.matchAll(/npm install (?<names>[\w@/. -]+)/g)].flatMap(
      ({ groups }) => groups?.['names']?.trim().split(/ +/) ?? [],
    );
    // What is installed here is of the versions that README names: a test compares them.
    const names = packages.map((wanted) => wanted.replace(/(?<=.)@[\d.]+$/, ''));
    await Promise.all([...names, '@types/node'].map((name) => project.#link(name)));
    // As npm makes it, unless README says otherwise.
    const [, type = 'commonjs'] = /`"type": "(\w+)"`/.exec(readme) ?? [];
    await project.#write('package.json', JSON.stringify({ type }));
    await project.#write('tsconfig.json', JSON.stringify(tsconfig));
    for (const { name, text } of project.blocks) if (name !== undefined) await project.#write(name, text);
    await project.#write('schema.prisma', project.schema);
    return project;
  }

  /** Prisma's schema, with the usual parts of any project. */
  get schema(): string {
    return prismaHead + this.text('schema.prisma');
  }

  text(name: string): string {
    return this.blocks.find((block) => block.name === name)?.text ?? '';
  }

  /** Generates Prisma's client and compiles. Returns the output of the compiler, which should be empty. */
  async build(): Promise<string> {
    // Generating needs no schema engine, but would download one.
    const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1' };
    const generate = [
      installed('prisma/build/index.js'),
      'generate',
      '--no-hints',
      '--schema',
      'schema.prisma',
    ];
    const generated = this.#start(process.execPath, generate, env);
    if ((await generated.exited) !== 0) return generated.said();
    const compiled = this.#start(process.execPath, [installed('typescript/bin/tsc'), '-p', '.']);
    await compiled.exited;
    return compiled.said();
  }

  /**
   * Runs a command of README: for `npx tsx`, the compiled file; for `npx temporal-outbox`, the built command of this
   * repository.
   */
  start(command: string): Started {
    const [program, ...args] = command
      .replace(/^npx tsx (?<name>\w+)\.ts$/, 'node built/$<name>.js')
      .replace(/^npx temporal-outbox /, `node ${path.join(root, 'dist/bin/temporal-outbox.js')} `)
      .split(' ');
    if (program !== 'node') throw new Error(`The test does not know how to run "${command}".`);
    return this.#start(process.execPath, args);
  }

  async remove(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #start(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
    const child = spawn(program, args, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#env, ...env },
    });
    this.#children.push(child);
    let said = '';
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => (said += data.toString()));
    const exited = once(child, 'close').then(() => child.exitCode);
    return { said: () => said, exited };
  }

  async #link(name: string): Promise<void> {
    const target = path.join(this.folder, 'node_modules', name);
    await mkdir(path.dirname(target), { recursive: true });
    await symlink(name === 'temporal-outbox' ? root : installed(name), target);
  }

  async #write(name: string, text: string): Promise<void> {
    await writeFile(path.join(this.folder, name), text);
  }
}

function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(?<language>\w+)\n(?<text>.*?)^```$/gms)].map(({ groups }) => {
    const text = groups?.['text'] ?? '';
    const name = /^\/\/ (?<name>[\w.-]+):/.exec(text)?.groups?.['name'];
    return { language: groups?.['language'] ?? '', name, text };
  });
}
