// Bundles the sender by each bundler without externals, as CommonJS and as ESM, and prints the errors.
const esbuild = require('esbuild');
const tsup = require('tsup');
const webpack = require('webpack');

const [, , banner] = process.argv;
const js = { cjs: '', esm: banner };
const ending = { cjs: 'cjs', esm: 'mjs' };

const byEsbuild = (format) =>
  esbuild.build({
    entryPoints: ['sender.mjs'],
    bundle: true,
    platform: 'node',
    format,
    banner: { js: js[format] },
    outfile: `out/esbuild.${ending[format]}`,
  });

const byTsup = (format) =>
  tsup.build({
    config: false,
    silent: true,
    entry: { tsup: 'sender.mjs' },
    noExternal: [/./],
    platform: 'node',
    format,
    banner: { js: js[format] },
    outExtension: () => ({ js: `.${ending[format]}` }),
    outDir: 'out',
  });

const byWebpack = async (format) => {
  const isModule = format === 'esm';
  const compiler = webpack({
    entry: './sender.mjs',
    target: 'node',
    mode: 'production',
    experiments: { outputModule: isModule },
    output: { path: `${__dirname}/out`, filename: `webpack.${ending[format]}`, module: isModule },
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, done) => (error ? reject(error) : resolve(done))),
  );
  return stats.toJson({ all: false, errors: true });
};

async function main() {
  const told = {};
  for (const [name, bundle] of Object.entries({ esbuild: byEsbuild, tsup: byTsup, webpack: byWebpack }))
    for (const format of ['cjs', 'esm'])
      told[`${name}.${ending[format]}`] = await bundle(format).then(
        (result) => result?.errors ?? [],
        (error) => [String(error)],
      );
  process.stdout.write(JSON.stringify(told));
}

main();
