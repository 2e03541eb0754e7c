import type { LocalContext } from '../local-context.ts';
import type { ServerUser } from './data-folder.ts';
import { runCommand } from './run-command.ts';

/**
 * The user for PostgreSQL when this process is root, because it refuses to run as root: `postgres`, else `nobody`.
 *
 * @returns `undefined` when this process is not root: PostgreSQL then runs as the same user.
 */
export async function postgresUser(context: LocalContext): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  return (
    (await lookUp(context, 'postgres')) ?? (await lookUp(context, 'nobody')) ?? { uid: 65534, gid: 65534 }
  );
}

async function lookUp(context: LocalContext, name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number(await runCommand('id', [flag, name], { env: context.env }))),
    );
    return uid === undefined || gid === undefined ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}
