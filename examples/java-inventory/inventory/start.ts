import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { jdbcUrl } from '../databases.ts';

/** The Java program: what `mvn compile` has made of src/main/java. It ends with this process at the latest. */
export class JavaInventory {
  readonly #child: ChildProcess;
  #said = '';

  constructor() {
    const classPath = ['target/classes', 'target/jars/*'].join(path.delimiter);
    const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
    this.#child = spawn('java', [logging, '-cp', classPath, 'inventory.Main'], {
      cwd: path.resolve(import.meta.dirname, '..'),
      env: { ...process.env, JDBC_URL: jdbcUrl() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (text: Buffer) => (this.#said += text.toString()));
    process.once('exit', () => this.#child.kill('SIGKILL'));
  }

  /** Ends it, and answers by what: a code or a signal. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> {
    const closed = once(this.#child, 'close');
    this.#child.kill(signal);
    const [code, by] = await closed;
    return by ?? code;
  }

  /** What it said at the end of its work. */
  counts(): { readonly handled: number; readonly repeats: number } {
    const { groups } = /handled (?<handled>\d+), repeats (?<repeats>\d+)/.exec(this.#said) ?? {};
    return { handled: Number(groups?.['handled']), repeats: Number(groups?.['repeats']) };
  }
}
