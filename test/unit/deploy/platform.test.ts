import { expect, test } from 'vitest';
import { deployText } from './deploy-files.ts';

test('systemd restarts a relay for ever, but not one that no restart mends, and nobody else reaches its probes', () => {
  const lines = deployText('temporal-outbox-relay.service').split('\n');
  expect(lines).toEqual(
    expect.arrayContaining(['StartLimitIntervalSec=0', 'Restart=always', 'RestartPreventExitStatus=2']),
  );
  const valueOf = (name: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
  const needed = [...valueOf('WorkingDirectory'), ...valueOf('EnvironmentFile')];
  expect(needed).toHaveLength(2);
  // Asserted before each start; without that systemd would fail to use them every few seconds.
  expect(valueOf('AssertPathExists')).toEqual(needed);
  const [start = ''] = valueOf('ExecStart');
  expect([...start.matchAll(/--(?:health|metrics) (\S+)/g)].map(([, at]) => at)).toEqual([
    '127.0.0.1:8080',
    '127.0.0.1:9464',
  ]);
});
