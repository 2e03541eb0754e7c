/**
 * Completes package-lock.json with the packages of other platforms.
 *
 * A registry mirror may hold only some platforms of a package with native parts. npm then leaves the others out of the
 * lock, and `npm ci` refuses it, here and everywhere. Their versions are pinned by the package that asks for them, and
 * their names say where they run, so the entries can be written without them. Run after every `npm install`.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const processors = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
];

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));

/** True when the package at `path` finds the other one the way Node looks for it. */
function finds(path, name) {
  for (
    let folder = path;
    ;
    folder = folder.slice(0, folder.lastIndexOf('node_modules/')).replace(/\/$/, '')
  ) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (folder === '') return false;
  }
}

/** Where a package runs, by the words of its name: `@oxlint/binding-linux-arm-musleabihf`. */
function platformOf(name) {
  const words = name.split(/[/_-]/);
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc';
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  return { os, cpu, ...(/-(?:gnu|musl)/.test(name) ? { libc: [libc] } : {}) };
}

let added = 0;
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (finds(path, name)) continue;
    const platform = platformOf(name);
    if (!/^\d+\.\d+\.\d+[\w.-]*$/.test(version) || platform.os.length !== 1) {
      console.error(`${name}@${version}, asked for by ${path}, cannot be completed.`);
      process.exitCode = 1;
      continue;
    }
    const { os, cpu, libc } = platform;
    // In npm's order of names, so that the next install changes nothing. Absent ones are not written.
    lock.packages[`node_modules/${name}`] = { version, cpu, dev, libc, optional: true, os };
    added += 1;
  }
}

const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(
  'package-lock.json',
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, undefined, 2)}\n`,
);
console.log(`${added} packages of other platforms added.`);
