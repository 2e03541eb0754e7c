const { buildSync } = require('esbuild');
const webpack = require('webpack');

const { errors } = buildSync({
  entryPoints: ['sender.mjs'],
  bundle: true,
  platform: 'node',
  outfile: 'out/esbuild.cjs',
});
const output = { path: `${__dirname}/out`, filename: 'webpack.cjs' };
webpack({ entry: './sender.mjs', target: 'node', mode: 'production', output }, (error, stats) => {
  process.stdout.write(
    JSON.stringify({ esbuild: errors, webpack: error ?? stats.toJson({ all: false, errors: true }).errors }),
  );
});
