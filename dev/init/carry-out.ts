import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { InitPlan, PlannedScript } from './plan.ts';

/** What was written. */
export interface InitWritten {
  /** Paths of new files, relative to the project. */
  readonly files: readonly string[];
  /** Names of new scripts of package.json. */
  readonly scripts: readonly string[];
}

/** Writes the files of a plan and adds its scripts to package.json. What is there already stays, also if it has come since. */
export async function carryOut(folder: string, plan: InitPlan): Promise<InitWritten> {
  const files: string[] = [];
  for (const file of plan.files)
    if (await writeNew(path.join(folder, file.path), file.text)) files.push(file.path);
  return { files, scripts: await addScripts(path.join(folder, 'package.json'), plan.scripts) };
}

async function writeNew(file: string, text: string): Promise<boolean> {
  await mkdir(path.dirname(file), { recursive: true });
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Keeps order, indentation and line ends of the file. @returns the names that were added */
async function addScripts(file: string, planned: readonly PlannedScript[]): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8');
  const manifest: unknown = JSON.parse(text);
  const added = withScripts(manifest, planned);
  if (added.names.length === 0) return [];
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? 2;
  const end = /\s*$/.exec(text)?.[0] ?? '';
  const written = JSON.stringify(added.manifest, null, indent);
  await writeFile(file, (text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written) + end);
  return added.names;
}

function withScripts(
  manifest: unknown,
  planned: readonly PlannedScript[],
): { readonly manifest: object; readonly names: readonly string[] } {
  const known = typeof manifest === 'object' && manifest !== null ? manifest : {};
  const scripts = 'scripts' in known && typeof known.scripts === 'object' ? { ...known.scripts } : {};
  const missing = planned.filter(({ name }) => !Object.hasOwn(scripts, name));
  const commands = Object.fromEntries(missing.map(({ command, name }) => [name, command]));
  return {
    manifest: { ...known, scripts: { ...scripts, ...commands } },
    names: missing.map(({ name }) => name),
  };
}
