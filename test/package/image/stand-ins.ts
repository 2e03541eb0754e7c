import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import type { Podman } from './podman.ts';

/** Beside what Node itself is linked to, for addresses by name, as every image with a C library has them. */
const alsoLibraries = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2', 'librt.so.1'];
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/**
 * Makes the images that the Containerfile starts from, under their names, of this machine's Node: CI reaches no registry of
 * images. The first has a shell and npm besides, with this machine's settings of npm; the second Node and libraries alone, in
 * the place where that image has it.
 */
export async function standIns(podman: Podman, builder: string, runtime: string): Promise<void> {
  const { sandbox } = podman;
  const node = realpathSync(process.execPath);
  const full = new Root(sandbox.at('builder'));
  const bare = new Root(sandbox.at('runtime'));
  full.copy(node, '/usr/local/bin/node');
  bare.copy(node, '/nodejs/bin/node');
  for (const library of librariesOf(node)) for (const root of [full, bare]) root.copy(library);
  for (const program of ['/bin/sh', '/usr/bin/env']) {
    full.copy(program);
    for (const library of librariesOf(program)) full.copy(library);
  }
  for (const root of [full, bare]) if (existsSync(certificates)) root.copy(certificates);
  full.npm();
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/root', npm_config_prefer_offline: 'true' };
  const settings = Object.entries(env).map(([name, value]) => `--change=ENV ${name}=${value}`);
  for (const [folder, name, changes] of [
    ['builder', builder, settings],
    ['runtime', runtime, []],
  ] as const) {
    const file = `/mnt/${folder}.tar`;
    execFileSync('tar', ['-C', sandbox.at(folder), '-cf', sandbox.at(`${folder}.tar`), '.']);
    await podman.call('import', ...changes, file, name);
  }
}

/** The root folder of an image. */
class Root {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    for (const shared of ['tmp', 'var/tmp']) mkdirSync(path.join(folder, shared), { recursive: true });
    execFileSync('chmod', ['1777', path.join(folder, 'tmp'), path.join(folder, 'var/tmp')]);
  }

  /** Copies a file, also where the path leads to it by a link. */
  copy(file: string, to = file): void {
    const target = path.join(this.#folder, to);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(file, target);
  }

  /** npm, and its settings, which say where packages come from. */
  npm(): void {
    const program = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
    const modules = '/usr/local/lib/node_modules';
    cpSync(path.resolve(program, '../..'), path.join(this.#folder, modules, 'npm'), { recursive: true });
    symlinkSync(`${modules}/npm/bin/npm-cli.js`, path.join(this.#folder, '/usr/local/bin/npm'));
    for (const [name, to] of [
      ['userconfig', '/root/.npmrc'],
      ['globalconfig', '/usr/local/etc/npmrc'],
    ] as const) {
      const file = execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
      if (existsSync(file)) this.copy(file, to);
    }
  }
}

function librariesOf(program: string): readonly string[] {
  const linked = execFileSync('ldd', [program], { encoding: 'utf8' }).match(/\/[^ ]+/g) ?? [];
  const c = linked.find((file) => file.endsWith('/libc.so.6')) ?? '';
  const also = alsoLibraries.map((name) => path.join(path.dirname(c), name));
  return [...linked, ...also.filter((file) => existsSync(file))];
}
