import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import type { Podman } from './podman.ts';
import { type Answer, printedBy } from './sandbox.ts';

/** A systemd of its own, which runs one unit. */
export interface Systemd {
  /** Runs a program beside it, as `systemctl`. */
  run(...command: readonly string[]): Promise<Answer>;
}

/**
 * The first process of a view of this machine: its files below a layer in memory, with devices and processes of its own, and
 * nothing else to start than the unit. The network is this machine's; settings of its kernel are read-only, as systemd would write them.
 */
const boot = `
mkdir -p /mnt/systemd/upper /mnt/systemd/work
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/systemd/upper,workdir=/mnt/systemd/work /mnt/systemd/root
cd /mnt/systemd/root
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for folder in dev run tmp; do mount -t tmpfs tmpfs $folder; done
for device in null zero full random urandom tty; do
  : > dev/$device
  mount --bind /dev/$device dev/$device
done
ln -s /proc/self/fd dev/fd
mkdir dev/shm dev/pts
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666
ln -s pts/ptmx dev/ptmx
rm -rf etc/systemd/system/*
: > etc/fstab
mkdir -p srv/outbox etc/outbox
mount --bind "$APPLICATION" srv/outbox
cp /mnt/systemd/relay.env etc/outbox/relay.env
chmod 600 etc/outbox/relay.env
cp /mnt/systemd/$UNIT etc/systemd/system/$UNIT
printf '[Unit]\\nRequires=%s\\n' $UNIT > etc/systemd/system/outbox.target
mkdir -p mnt/former
pivot_root . mnt/former
umount -l mnt/former
exec env -i container=outbox PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  "$(command -v /lib/systemd/systemd || command -v /usr/lib/systemd/systemd)" --system --unit=outbox.target
`;

/**
 * Runs `boot.sh` in a control group of its own until the standard input ends, then ends every process of the group and removes it.
 * The input also ends when the test process is killed.
 */
const run = `
mkdir "$GROUP"
sh -c 'echo $$ > "$GROUP/cgroup.procs"
  exec unshare --cgroup --pid --fork --mount --uts --ipc --kill-child sh -e /mnt/systemd/boot.sh' &
echo $!
cat
echo 1 > "$GROUP/cgroup.kill"
wait $! || true
for try in $(seq 100); do
  find "$GROUP" -depth -type d -exec rmdir {} + && exit
  sleep 0.1
done
exit 1
`;

export interface UnitFiles {
  readonly unit: string;
  /** The unit's text, with ports of this machine. */
  readonly text: string;
  /** What is in its environment file. */
  readonly environment: Readonly<Record<string, string>>;
  /** The image whose application is in `/srv/outbox`. */
  readonly image: string;
}

/** Starts systemd with a unit; it ends with the test. A failed test prints what the unit did. */
export async function startSystemd(podman: Podman, files: UnitFiles): Promise<Systemd> {
  const { sandbox } = podman;
  await mkdir(sandbox.at('systemd/root'), { recursive: true });
  writeFileSync(sandbox.at('systemd/boot.sh'), boot);
  writeFileSync(sandbox.at('systemd', files.unit), files.text);
  const lines = Object.entries(files.environment).map(([name, value]) => `${name}="${value}"\n`);
  writeFileSync(sandbox.at('systemd/relay.env'), lines.join(''));
  const image = await podman.call('image', 'mount', files.image);
  const group = `/sys/fs/cgroup/outbox-systemd-${randomUUID()}`;
  const child = sandbox.start('sh', ['-e', '-c', run], {
    APPLICATION: `${image}/app`,
    UNIT: files.unit,
    GROUP: group,
  });
  const exited = once(child, 'exit');
  let [said, parent] = ['', ''];
  child.stdout?.on('data', (data: Buffer) => (parent += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  const systemd: Systemd = {
    run: async (...command) => {
      const [first] = await childrenOf(parent.trim());
      if (first === undefined) throw new Error(`systemd does not run: ${said}`);
      return sandbox.run('nsenter', [`--target=${first}`, '--mount', '--pid', '--', ...command]);
    },
  };
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(await accountOf(systemd, files.unit));
    child.stdin?.end();
    const [code] = (await exited) as [number | null];
    await podman.call('image', 'unmount', files.image);
    if (code !== 0) throw new Error(`systemd did not end: ${said}`);
  });
  return systemd;
}
async function childrenOf(pid: string): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter((child) => child !== '');
}

/** What a unit did, and why systemd does not run if it does not. */
async function accountOf(systemd: Systemd, unit: string): Promise<string> {
  try {
    const status = await systemd.run('systemctl', 'status', '--full', unit);
    const journal = await systemd.run('journalctl', '--no-pager', '--lines=100');
    return `${status.stdout}${status.stderr}${journal.stdout}${journal.stderr}`;
  } catch (error) {
    return String(error);
  }
}

/** Some of the properties of a unit, as systemd tells them. */
export async function propertiesOf(
  systemd: Systemd,
  unit: string,
  ...names: readonly string[]
): Promise<Readonly<Record<string, string>>> {
  const lines = printedBy(await systemd.run('systemctl', 'show', unit, `--property=${names.join(',')}`));
  return Object.fromEntries(lines.split('\n').map((line) => line.split('=', 2) as [string, string]));
}
