import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { runCommand } from '../process/run-command.ts';
import { findOnPath } from '../providers/find-program.ts';
import { installOnce } from '../providers/install-once.ts';
import { pinned, supported } from '../providers/pinned-versions.ts';
import { describeVersionMismatch } from '../providers/program-version.ts';
import type { Candidate } from '../providers/source-order.ts';
import { describeRange, inRange, parseVersion } from '../providers/version-range.ts';
import { buildTemporal } from './temporal-build.ts';

/** The `temporal` program on PATH, if the server inside it is supported. */
export async function temporalOnPath(context: LocalContext): Promise<Candidate<string>> {
  const file = await findOnPath(context.env, 'temporal');
  if (file === undefined)
    return { missing: describeVersionMismatch('temporal', supported.temporalServer, []) };
  const output = await runCommand(file, ['--version'], { env: context.env });
  const version = serverVersion(output);
  if (version !== undefined && inRange(version, supported.temporalServer)) return { found: file };
  return {
    missing: describeVersionMismatch('temporal with a server', supported.temporalServer, [output.trim()]),
  };
}

/** The server version in the output of `temporal --version`: `temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)`. */
export function serverVersion(output: string): ReturnType<typeof parseVersion> {
  const server = /Server (\d[\d.]*)/.exec(output)?.[1];
  return server === undefined ? undefined : parseVersion(server);
}

/** The pinned `temporal` program, built from its published source by Go. Takes minutes the first time. */
export async function temporalFromRegistry(context: LocalContext): Promise<Candidate<string>> {
  const name = `temporal-${pinned.temporalCli}-${process.platform}-${process.arch}`;
  const installed = join(context.cache, 'installed', name);
  if (!existsSync(installed)) {
    const go = await goProgram(context);
    if ('missing' in go) return go;
    await installOnce(context, name, (folder) => buildTemporal(context, go.found, folder));
  }
  return { found: join(installed, 'temporal') };
}

async function goProgram(context: LocalContext): Promise<Candidate<string>> {
  const range = describeRange(supported.go);
  const missing = `Go ${range} is needed to build it; install Go, the temporal CLI, or Docker.`;
  const file = await findOnPath(context.env, 'go');
  if (file === undefined) return { missing: `go is not on PATH. ${missing}` };
  const output = await runCommand(file, ['env', 'GOVERSION'], { env: context.env });
  const version = parseVersion(output);
  return version !== undefined && inRange(version, supported.go)
    ? { found: file }
    : { missing: `${output.trim()} is too old. ${missing}` };
}
