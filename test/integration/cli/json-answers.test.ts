import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { operationTable } from '../../../src/api/table/table.ts';
import { counterparts } from '../../support/cli/counterparts.ts';
import { answerProblems } from '../../support/fixtures/answer-problems.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { type ApiBench, ownApi } from '../api/api-bench.ts';
import { fill, type World } from '../api/samples.ts';

let bench: ApiBench;
let world: World;
beforeEach(async () => {
  bench = await ownApi();
  world = await fill(bench);
});

/** They follow, or need the configuration of brokers. */
const elsewhere = ['tail', 'verify', 'partitions'];

/** One good command line for each command, without its options for every command. */
function commandLines({
  bulk,
  failed,
  group,
  kept,
  waiting,
}: World): Readonly<Record<string, readonly string[]>> {
  const ofGroup = ['--group', group];
  return {
    status: [],
    list: ['--topic', 'orders'],
    show: [waiting],
    cancel: [waiting],
    reschedule: [waiting, '--after', '2h'],
    retry: [failed],
    discard: [failed],
    expunge: [waiting],
    withdraw: [waiting],
    edit: [failed, '--header', 'note=new'],
    pause: ['orders'],
    resume: ['orders'],
    lanes: ['orders', '3'],
    'bulk list': [],
    'bulk show': [bulk],
    'bulk pause': [bulk],
    'bulk resume': [bulk],
    'bulk abort': [bulk],
    'schedules list': [],
    'schedules pause': ['nightly'],
    'schedules resume': ['nightly'],
    'schedules run': ['nightly'],
    'schedules remove': ['nightly'],
    'inbox list': ofGroup,
    'inbox show': [kept, ...ofGroup],
    'inbox retry': [kept, ...ofGroup],
    'inbox edit': [kept, ...ofGroup, '--header', 'note=new'],
    'inbox discard': [kept, ...ofGroup],
    'inbox expunge': [kept, ...ofGroup],
    'alerts list': [],
    'alerts silence': ['hold', '--for', '2h'],
  };
}

/** What reads, and what can only be rehearsed without its answer. */
const unrehearsed = /^(?:status|list|show|lanes|\w+ (?:list|show))$/;

test('what a command prints with --json is what its operation answers', {
  tags: ['faces-describe-the-same'],
}, async () => {
  const lines = commandLines(world);
  expect([...Object.keys(lines), ...elsewhere].toSorted()).toEqual(Object.keys(counterparts).toSorted());
  for (const [path, args] of Object.entries(lines)) {
    const more = unrehearsed.test(path) ? ['--json'] : ['--json', '--dry-run'];
    const yes = path === 'lanes' ? ['--yes'] : [];
    const { stderr, stdout } = await runCli([...path.split(' '), ...args, ...more, ...yes], {
      DATABASE_URL: bench.lane.url,
      USER: 'grace',
    });
    const told = z.looseObject({ ok: z.boolean() }).safeParse(JSON.parse(stdout || 'null'));
    expect([path, stderr, told.success]).toEqual([path, expect.anything(), true]);
    const answer = operationTable.find(({ name }) => name === counterparts[path]?.[0])?.answer;
    expect([path, answer && answerProblems(answer, told.data)]).toEqual([path, []]);
  }
});
