import type { LocalContext } from '../local-context.ts';
import { progressStep } from '../process/progress-step.ts';
import { runCommand } from '../process/run-command.ts';
import { pinned } from '../providers/pinned-versions.ts';

/** Builds the pinned `temporal` program in the folder. What Go has built before is not built again. */
export async function buildTemporal(context: LocalContext, go: string, folder: string): Promise<void> {
  const module = 'github.com/temporalio/cli';
  // Stripping symbols makes the program a third smaller; the version is otherwise set only in release builds.
  const linker = `-s -w -X ${module}/temporalcli.Version=${pinned.temporalCli}`;
  const program = [`-ldflags=${linker}`, `${module}/cmd/temporal@v${pinned.temporalCli}`];
  const install = (options: readonly string[], onLine: (line: string) => void) =>
    runCommand(go, ['install', '-v', ...options, ...program], {
      env: { ...context.env, GOBIN: folder },
      cwd: folder,
      signal: context.signal,
      onLine,
    });
  await progressStep(
    context.tell,
    'Temporal: building it with Go, about 3 minutes on 2 cores',
    async (detail) => {
      const progress = new GoProgress();
      await install(['-n'], (line) => detail(progress.planned(line)));
      await install([], (line) => detail(progress.built(line)));
    },
  );
}

/** How far a build has come, by what Go writes: first of what it would do (`-n`), then of what it does (`-v`). */
export class GoProgress {
  readonly #left = new Set<string>();
  #fetched = 0;
  #total = 0;

  /** Takes a line of what Go would do. It has fetched all modules when it knows that. */
  planned(line: string): string {
    if (line.startsWith('go: downloading ')) this.#fetched += 1;
    // Each package begins with a comment of its name. Other comments are no names.
    const [, name] = /^# (\S+)$/.exec(line) ?? [];
    if (name !== undefined) this.#left.add(name);
    this.#total = this.#left.size;
    return `modules fetched: ${this.#fetched}`;
  }

  /** Takes a line of what Go does: it names each package that it begins to compile. */
  built(line: string): string {
    this.#left.delete(line);
    if (this.#left.size === 0) return 'linking';
    // The last package that it has named is not compiled yet.
    const compiled = Math.max(0, this.#total - this.#left.size - 1);
    const share = Math.floor((100 * compiled) / this.#total);
    return `${share} %: ${compiled} of ${this.#total} packages`;
  }
}
