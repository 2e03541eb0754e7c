/**
 * Completes package-lock.json with the packages of other platforms.
 *
 * A registry mirror may hold only some platforms of a package with native parts. npm then omits the others from the
 * lock, and `npm ci` rejects it on every machine. Their versions are pinned by the package that depends on them, and
 * their names contain the platform, so the entries can be written without them. Run after every `npm install`.
 *
 * Works on the lock of the current folder. The checksum of the product itself is dropped: the examples install what was
 * packed a moment ago.
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

/** True if the package at `path` can resolve the other one by Node's lookup. */
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

/** The platform of a package, derived from its name: `@oxlint/binding-linux-arm-musleabihf`. */
function platformOf(name) {
  const words = name.split(/[/_-]/);
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc';
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  return { os, cpu, ...(/-(?:gnu|musl)/.test(name) ? { libc: [libc] } : {}) };
}

delete lock.packages['node_modules/temporal-outbox']?.integrity;

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
    // In npm's order of keys, so that the next install changes nothing. Absent fields are not written.
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
