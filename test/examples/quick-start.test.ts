import { expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../../dev/servers/process/free-port.ts';
import { createEmptyDatabase } from '../support/fixtures/database.ts';
import { until } from '../support/fixtures/until.ts';
import { QuickStartApp } from './quick-start-app.ts';
import { type Kind, stepsFor } from './quick-start-page.ts';

/** From the first command to the message in the handler, on a busy machine; packages and servers are there already. */
const withinMs = 180_000;

const kinds: readonly Kind[] = ['With Prisma', 'In NestJS'];

test.each(kinds)(
  'a newcomer’s own message is handled by the steps of the quick start: %s',
  { timeout: 600_000 },
  async (kind) => {
    const { drop, url } = await createEmptyDatabase();
    onTestFinished(() => drop());
    const { announced, commands, files } = stepsFor(kind);
    const app = await QuickStartApp.create(kind);
    onTestFinished(() => app.remove());
    const port = String(await freePort());
    app.env = {
      PORT: port,
      DATABASE_URL: url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      KAFKA_BROKERS: inject('kafkaBrokers'),
    };
    const startedAt = performance.now();
    // The sources are written in step 5: `init` meets a project without any.
    const write = async (source: boolean) => {
      for (const [file, text] of files) if (file.startsWith('src/') === source) await app.write(file, text);
    };
    await write(false);
    let sent = '';
    let handledMs = Infinity;

    for (const { ownTerminal, text } of commands) {
      const [, names] = /^npm install (?:--save-dev )?(?<names>.+)$/.exec(text) ?? [];
      const [, address] = /^curl -X POST (?<address>\S+)$/.exec(text) ?? [];
      if (names !== undefined) await app.install(names.split(' '));
      else if (address !== undefined)
        sent = await post(address.replace('localhost:3000', `127.0.0.1:${port}`));
      else if (ownTerminal) {
        const { said } = app.start(text);
        // The start of the servers waits for the lines to paste; other programs may keep running.
        if (!text.endsWith('servers')) continue;
        await told(app, () => said().includes('Temporal UI'));
        const lines = [...said().matchAll(/^export (?<name>\w+)='(?<value>.*)'$/gm)];
        app.env = { PORT: port, ...Object.fromEntries(lines.map(([, name, value]) => [name, value])) };
      } else {
        const { ended, said } = app.start(text, 'y\n');
        expect(await ended, `${text}: ${said()}`).toBe(0);
        // The page has installed everything that `init` requires.
        if (text.includes(' init ')) {
          expect(said()).not.toContain('npm install');
          expect(said()).toContain('Wrote src/topics.ts, src/outbox.config.ts, src/consume.ts, ');
          await write(true);
        }
        if (text.includes('open-account')) sent = said();
      }
      const [, id] = /opened (?<id>[0-9a-f-]{36})/.exec(sent) ?? [];
      if (id === undefined || handledMs < Infinity) continue;
      await told(app, () => app.said.includes(`account-opened: {"id":"${id}"}`));
      handledMs = performance.now() - startedAt;
    }

    const count = commands.flatMap(({ text }) => text.split(' && ')).length;
    expect(count).toBe(announced);
    expect(handledMs).toBeLessThan(withinMs);
    console.log(
      `quick-start, ${kind}: ${count} commands, ${Math.round(handledMs / 1000)} s to the first message`,
    );
  },
);

async function told(app: QuickStartApp, condition: () => boolean): Promise<void> {
  await until(condition, withinMs).catch((cause: unknown) => {
    throw new Error(app.said, { cause });
  });
}

/** A person repeats the request until the application listens. */
async function post(address: string): Promise<string> {
  let answer = '';
  await until(async () => {
    answer = await fetch(`http://${address}`, { method: 'POST' }).then(
      (response) => response.text(),
      () => '',
    );
    return answer !== '';
  }, withinMs);
  return answer;
}
