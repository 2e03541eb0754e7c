import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from './project-files.ts';

/** One complaint of the linter. */
export interface Finding {
  readonly file: string;
  readonly rule: string;
  /** What the rule says, with the reason that the configuration gives. */
  readonly text: string;
}

interface Diagnostic {
  readonly filename: string;
  readonly code: string;
  readonly message: string;
  readonly help?: string;
}

/**
 * Lints texts as if they were files of this project, with the project's own configuration. Only the rules that need
 * types are off, because the files stand alone.
 */
export async function lintAsProject(files: ReadonlyMap<string, string>): Promise<readonly Finding[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'temporal-outbox-lint-')));
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const real = pathToFileURL(join(projectRoot, 'oxlint.config.mjs')).href;
    const config = join(folder, 'oxlint.config.mjs');
    await writeFile(
      config,
      `import real from '${real}';\nexport default { ...real, options: { ...real.options, typeAware: false } };\n`,
    );
    const output = await runLinter(folder, [
      '-c',
      config,
      '--format',
      'json',
      'bin',
      'dev',
      'src',
      'workflows',
      'activities',
    ]);
    const { diagnostics } = JSON.parse(output) as { diagnostics: readonly Diagnostic[] };
    return diagnostics.map(({ filename, code, message, help }) => ({
      file: relative(folder, join(folder, filename)),
      rule: code,
      text: `${message} ${help ?? ''}`,
    }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with what the linter printed; that it found something is an answer, not a failure. */
async function runLinter(folder: string, args: readonly string[]): Promise<string> {
  const program = join(projectRoot, 'node_modules', 'oxlint', 'bin', 'oxlint');
  return await new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [program, ...args],
      { cwd: folder, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (stdout.startsWith('{')) resolve(stdout);
        else reject(new Error(`The linter gave no report: ${stderr || stdout}`, { cause: error }));
      },
    );
  });
}
