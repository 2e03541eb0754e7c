import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Call, Calls, Reply } from './protocol.ts';

const endsWithinMs = 20_000;

/** A contender in a process of its own. */
export class ContenderProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;

  /** @param program file and arguments @param node the program that runs it */
  constructor(program: readonly string[], node: string) {
    this.#child = spawn(node, [...program], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let said = '';
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    this.#ended = once(this.#child, 'close').then(
      ([code]) => `${program.join(' ')} ended with ${String(code)}.\n${said}`,
    );
    this.#ended.catch(() => undefined);
  }

  /** @throws Error with what the contender said when it fails or ends */
  async ask<Name extends Call>(call: Name, taken: Calls[Name]['takes']): Promise<Calls[Name]['answers']> {
    const answered = once(this.#child, 'message') as Promise<[Reply]>;
    const gone = this.#ended.then((how): never => {
      throw new Error(how);
    });
    gone.catch(() => undefined);
    this.#child.send({ call, with: taken });
    const [answer] = await Promise.race([answered, gone]);
    if ('error' in answer) throw new Error(answer.error);
    return answer.answer as Calls[Name]['answers'];
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    await this.ask('stop', null);
    const tooLong = setTimeout(() => this.kill(), endsWithinMs);
    await this.#ended;
    clearTimeout(tooLong);
  }

  /** Ends it wherever it is. Safe to repeat. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
