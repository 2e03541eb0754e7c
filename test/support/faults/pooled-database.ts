import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { untilAnswers } from '../fixtures/until-answers.ts';

/** The user and the group "nobody": pgbouncer refuses to run as root. */
const nobody = 65_534;

/**
 * Puts pgbouncer in front of a database, in transaction mode: each transaction of any client runs on any of its few
 * connections. It ends with the test.
 *
 * @param url of the database
 * @returns where clients connect instead
 */
export async function pooledDatabase(
  { onTestFinished }: { readonly onTestFinished: (work: () => Promise<void>) => void },
  url: string,
  connections: number,
): Promise<string> {
  const { hostname, password, pathname, port, username } = new URL(url);
  const folder = await mkdtemp(path.join(tmpdir(), 'pooler-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const listenPort = await freePort();
  const settings = path.join(folder, 'pgbouncer.ini');
  await writeFile(
    settings,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${connections}
ignore_startup_parameters = extra_float_digits
`,
  );
  await chmod(folder, 0o755);
  const root = process.getuid?.() === 0;
  const child = spawn('pgbouncer', [settings], {
    stdio: ['ignore', 'ignore', 'ignore'],
    ...(root && { uid: nobody, gid: nobody }),
  });
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const through = `postgresql://${username}@127.0.0.1:${listenPort}${pathname}`;
  await untilAnswers(through);
  return through;
}
