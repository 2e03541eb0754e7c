import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type Answer, printedBy, Sandbox } from './sandbox.ts';

/** A container that runs. */
export interface RunningContainer {
  readonly name: string;
  /** What it has printed. */
  readonly output: () => string;
  /** How it ended, once it has. */
  readonly exited: Promise<number | null>;
  /** Sends the signal of the image, kills after the grace period, and answers the exit code: 137 for a killed one. */
  stop(graceSeconds: number): Promise<number | null>;
}

/** The limits of this process hold for containers, too: a higher one may be refused. */
const settings = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n';

/** Images and containers of a sandbox, by podman: without a daemon, and gone with the sandbox. */
export class Podman {
  readonly sandbox: Sandbox;
  readonly #running = new Set<RunningContainer>();
  #count = 0;

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  static async open(): Promise<Podman> {
    const sandbox = await Sandbox.open();
    await mkdir(sandbox.at('podman'));
    await writeFile(sandbox.at('containers.conf'), settings);
    return new Podman(sandbox);
  }

  /** Runs podman, which must succeed, and answers what it printed. */
  async call(...args: readonly string[]): Promise<string> {
    return printedBy(await this.try(...args));
  }

  /** Runs podman. */
  try(...args: readonly string[]): Promise<Answer> {
    return this.sandbox.run('podman', [...this.#store, ...args], { env: this.#env });
  }

  /** Starts a container on the network of this machine. */
  start(options: readonly string[], image: string, args: readonly string[]): RunningContainer {
    const name = `container-${(this.#count += 1)}`;
    const places = ['--rm', '--pull=never', '--network=host', '--cgroups=disabled', `--name=${name}`];
    const command = [...this.#store, 'run', ...places, ...options, image, ...args];
    const child = this.sandbox.start('podman', command, this.#env);
    const read = outputOf(child);
    const exited = once(child, 'exit').then(([code]) => {
      this.#running.delete(container);
      return code as number | null;
    });
    const container: RunningContainer = {
      name,
      output: read,
      exited,
      stop: async (graceSeconds) => {
        await this.try('stop', `--time=${graceSeconds}`, name);
        return exited;
      },
    };
    this.#running.add(container);
    return container;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#running].map((container) => container.stop(0)));
    await this.sandbox.end();
  }

  get #store(): readonly string[] {
    const folders = ['--root=/mnt/podman/store', '--runroot=/mnt/podman/run', '--tmpdir=/mnt/podman/tmp'];
    return [...folders, '--storage-driver=overlay', '--cgroup-manager=cgroupfs', '--events-backend=none'];
  }

  get #env(): Readonly<Record<string, string>> {
    return { CONTAINERS_CONF: '/mnt/containers.conf', TMPDIR: '/mnt' };
  }
}

function outputOf(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => (output += data.toString()));
  return () => output;
}
