import { expect, test } from 'vitest';
import { z } from 'zod';
import { pinned } from '../../../dev/servers/providers/pinned-versions.ts';
import { deployText, yamlOf } from './deploy-files.ts';

test('compose keeps what every server stores, and names the version of each image', () => {
  const { services, volumes } = z
    .object({
      services: z.record(
        z.string(),
        z.object({
          image: z.string().optional(),
          volumes: z.array(z.string()).default([]),
          environment: z.record(z.string(), z.unknown()).optional(),
        }),
      ),
      volumes: z.record(z.string(), z.null()),
    })
    .parse(yamlOf('compose.yaml')[0]);
  const kept = Object.fromEntries(
    Object.entries(services).flatMap(([name, one]) =>
      one.volumes.flatMap((volume) => (volume.startsWith('.') ? [] : [[name, volume]])),
    ),
  );
  expect(Object.keys(kept).toSorted()).toEqual(['kafka', 'postgres', 'temporal']);
  expect(Object.keys(volumes).toSorted()).toEqual(['kafka', 'postgres', 'temporal']);
  expect(kept['kafka']).toBe(`kafka:${String(services['kafka']?.environment?.['KAFKA_LOG_DIRS'])}`);
  expect(services['temporal']?.image).toBe(`docker.io/temporalio/temporal:${pinned.temporalCli}`);
  for (const { image } of Object.values(services)) if (image !== undefined) expect(image).toMatch(/:v?\d/);
});

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
