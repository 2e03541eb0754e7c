import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { ParkedStage } from '../fixtures/parked-stage.ts';
import { builtProgram } from './built-program.ts';
import type { Crash } from './doomed-process.ts';

export interface HandlerProcessSettings {
  readonly url: string;
  readonly temporalAddress: string;
  readonly installation: string;
  readonly group: string;
  readonly crash?: Crash;
}

/** A process that hosts the workflows of parked keys, and whose drains never end. */
export interface HandlerProcess {
  /** Resolves when it has a key in hand. */
  readonly draining: Promise<unknown>;
  /** Resolves when the process has exited. */
  readonly exited: Promise<unknown>;
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>;
}

/** Starts it as a child process. */
export function startHandlerProcess(stage: ParkedStage, crash?: Crash): HandlerProcess {
  const settings: HandlerProcessSettings = {
    url: stage.url,
    temporalAddress: inject('temporalAddress'),
    installation: stage.installation,
    group: stage.group,
    ...(crash !== undefined && { crash }),
  };
  const child = spawn(process.execPath, [builtProgram('handler-main'), JSON.stringify(settings)], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  return {
    draining: once(createInterface({ input: child.stdout }), 'line'),
    exited,
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}
