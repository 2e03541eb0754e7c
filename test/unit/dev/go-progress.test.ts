import { expect, test } from 'vitest';
import { GoProgress } from '../../../dev/servers/temporal/temporal-build.ts';

const plan = [
  'go: downloading go.uber.org/zap v1.27.0',
  'go: downloading modernc.org/sqlite v1.39.0',
  'mkdir -p $WORK/b007/',
  '#',
  '# internal/cpu',
  '#',
  'internal/cpu',
  "cat >$WORK/b007/importcfg << 'EOF' # internal",
  '# import config',
  '# runtime',
  'runtime',
  '# net',
  '# main',
];

function planned() {
  const progress = new GoProgress();
  return { progress, said: plan.map((line) => progress.planned(line)) };
}

test('a build says how many modules it has fetched, and then the share of the packages to compile that it has compiled', () => {
  const { progress, said } = planned();
  expect([...new Set(said)]).toEqual(['modules fetched: 1', 'modules fetched: 2']);

  expect(['internal/cpu', 'runtime', 'net', 'main'].map((line) => progress.built(line))).toEqual([
    '0 %: 0 of 4 packages',
    '25 %: 1 of 4 packages',
    '50 %: 2 of 4 packages',
    'linking',
  ]);
});

test('what a compiler warns of, or names again, is no package that is compiled', () => {
  const { progress } = planned();
  const lines = ['runtime', '# runtime', 'sqlite3.c:1: warning: unused', 'runtime', 'other', 'net'];
  expect(lines.map((line) => progress.built(line))).toEqual([
    ...Array.from({ length: 5 }, () => '0 %: 0 of 4 packages'),
    '25 %: 1 of 4 packages',
  ]);
});

test('a build of which everything but the program was built before is linking at once', () => {
  const progress = new GoProgress();
  progress.planned('# main');
  expect(progress.built('main')).toBe('linking');
});
