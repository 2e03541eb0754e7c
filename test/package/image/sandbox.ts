import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** How a program ended. */
export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly within?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a program printed that was to succeed; else it throws how the program ended. */
export function printedBy({ code, stdout, stderr }: Answer): string {
  if (code !== 0) throw new Error(`exit ${code}\n${stdout}${stderr}`);
  return stdout.trim();
}

/** A view of the file system in which `/mnt` is an empty one in memory. It ends with the test process, also when that is killed. */
export class Sandbox {
  /** `/mnt` of the sandbox, for this process. */
  readonly folder: string;
  readonly #holder: ChildProcess;

  constructor(holder: ChildProcess) {
    this.#holder = holder;
    this.folder = `/proc/${holder.pid}/root/mnt`;
  }

  /** Mounts are for root only. */
  static async open(): Promise<Sandbox> {
    const mounts = [
      'mount -t tmpfs tmpfs /mnt',
      // The containers of podman want one kind of control groups; machines with two have none that fits.
      'mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    ];
    // It reads until this process ends.
    const script = [...mounts, 'echo mounted', 'exec cat'].join(' && ');
    const holder = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: holder.stdout });
    const [line] = (await Promise.race([once(lines, 'line'), once(holder, 'exit')])) as unknown[];
    if (line !== 'mounted') throw new Error('An image is built by unshare of Linux, as root.');
    return new Sandbox(holder);
  }

  /** The path of a file of the sandbox, for this process. */
  at(...names: readonly string[]): string {
    return path.join(this.folder, ...names);
  }

  /** Runs a program in the sandbox. */
  run(command: string, args: readonly string[], { within = '/mnt', env }: RunOptions = {}): Promise<Answer> {
    return new Promise((resolve) => {
      execFile(
        'nsenter',
        this.#entered(within, command, args),
        { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          const code = typeof error?.code === 'number' ? error.code : null;
          resolve({ code: error === null ? 0 : code, stdout, stderr });
        },
      );
    });
  }

  /** Starts a program in the sandbox. Its standard input ends with this process at the latest. */
  start(command: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    return spawn('nsenter', this.#entered('/mnt', command, args), {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  async end(): Promise<void> {
    if (this.#holder.exitCode !== null) return;
    this.#holder.stdin?.end();
    await once(this.#holder, 'exit');
  }

  #entered(within: string, command: string, args: readonly string[]): readonly string[] {
    return [`--mount=/proc/${this.#holder.pid}/ns/mnt`, `--wdns=${within}`, '--', command, ...args];
  }
}
