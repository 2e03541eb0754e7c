import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { openDatabase } from '../../../src/store/database/pool.ts';

/** A database on a separate file system, small enough to fill. */
export interface SmallDisk {
  /** Connection string of the database, which has no tables of the outbox. */
  readonly url: string;
  /** Fills the remaining space. */
  fill(): Promise<void>;
  /** Frees the space again. */
  free(): Promise<void>;
}

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

const sizeMiB = 64;

/**
 * Creates a database on a small file system in memory; the WAL of the server stays where it was.
 *
 * The file system is mounted in a namespace that no other process sees, by `unshare` of Linux; the user of the server
 * may do so wherever user namespaces are allowed. Processes of the same user reach it through `/proc`.
 *
 * @param serverUrl of a server of this test, on this machine
 */
export async function smallDisk({ onTestFinished }: TestEnd, serverUrl: string): Promise<SmallDisk> {
  const admin = openDatabase({ url: serverUrl, connections: 1 });
  try {
    const [server] = await admin.query<{ folder: string }>(
      `select current_setting('data_directory') as folder`,
    );
    const { uid, gid } = await stat(server?.folder ?? '');
    const mounted = await mount(uid, gid);
    onTestFinished(() => mounted.end());
    await admin.query(`create tablespace small location '${mounted.folder}/space'`);
    await admin.query('create database small tablespace small');
    const url = new URL(serverUrl);
    url.pathname = '/small';
    return {
      url: url.href,
      // It exits when the disk is full.
      fill: () => mounted.run('dd if=/dev/zero of=/mnt/filler bs=4k 2>/dev/null'),
      free: () => mounted.run('rm /mnt/filler'),
    };
  } finally {
    await admin.close();
  }
}

/** A mounted file system. */
interface Mounted {
  /** The path for other processes. */
  readonly folder: string;
  /** Runs a command that sees it as `/mnt`. */
  run(command: string): Promise<void>;
  end(): Promise<void>;
}

async function mount(uid: number, gid: number): Promise<Mounted> {
  const own = ['--user', '--map-root-user', '--mount'];
  const child = spawn('unshare', [...own, 'sh'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(process.getuid?.() === 0 && { uid, gid }),
  });
  const exited = once(child, 'exit');
  // Writing to a shell that has exited emits an error.
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout });
  const run = async (command: string): Promise<void> => {
    const answered = Promise.race([once(lines, 'line'), exited]);
    child.stdin.write(`${command}; echo done\n`);
    const [line] = (await answered) as unknown[];
    if (line !== 'done')
      throw new Error('A file system of a test needs unshare of Linux, and the right to use it.');
  };
  await run(`set -e; mount -t tmpfs -o size=${sizeMiB}m tmpfs /mnt; mkdir /mnt/space; set +e`);
  return {
    folder: `/proc/${child.pid}/root/mnt`,
    run,
    async end() {
      child.stdin.end();
      await exited;
    },
  };
}
