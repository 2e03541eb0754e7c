import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { startCli, startProcess } from '../../support/fixtures/cli-process.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { logLinesOf } from '../../support/fixtures/log-lines.ts';
import { until } from '../../support/fixtures/until.ts';
import { documentedConfigs, installedConfig } from './documented-configs.ts';

const configs = await documentedConfigs();

test('the pages show configurations and parts of them', () => {
  const pages = new Set(configs.map(({ place }) => place.replace(/:\d+$/, '')));
  expect([...pages]).toEqual(
    expect.arrayContaining([
      'docs/alerts.md',
      'docs/configuration.md',
      'docs/production.md',
      'docs/sign-in.md',
      'docs/transports/redis.md',
    ]),
  );
});

test('each of them is accepted by the loader of the commands, as it is shown', async (context) => {
  const files = await Promise.all(configs.map(({ text }) => installedConfig(context, text)));
  // In a process of its own, because the package that they import would be a second copy here.
  const program = `
    const { loadConfig } = require('./dist/src/cli/load-config.js');
    const said = (file) => loadConfig(file).then(() => 'accepted', (error) => error.message);
    Promise.all(${JSON.stringify(files)}.map(said)).then((all) => console.log(JSON.stringify(all)));`;
  const loading = startProcess(context, ['-e', program]);
  expect(await loading.exited, loading.stderr()).toBe(0);

  const said = JSON.parse(loading.stdout()) as readonly string[];
  expect(configs.map(({ place }, index) => `${place} ${said[index]}`)).toEqual(
    configs.map(({ place }) => `${place} accepted`),
  );
});

test('the API starts with the configuration of the page about signing in', async (context) => {
  const shown = configs.find(({ place }) => place.startsWith('docs/sign-in.md:'));
  const made = await ownDatabase();
  const file = await installedConfig(context, shown?.text ?? '');
  const token = 'shop-'.padEnd(43, '0');
  const api = startCli(context, ['api', '--port', '0', '--config', file], {
    DATABASE_URL: made.url,
    SHOP_HASH: createHash('sha256').update(token).digest('hex'),
    OIDC_SECRET: 'secret of the client',
    SESSION_SECRET: Buffer.alloc(32, 7).toString('base64'),
  });
  await until(() => api.stdout().includes('"ready"'), 30_000);
  const [ready] = logLinesOf(api);
  const answer = await fetch(`${String(ready?.['url'])}/status`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status, await answer.text()).toBe(200);
});
