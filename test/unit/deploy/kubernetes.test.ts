import { expect, test } from 'vitest';
import { z } from 'zod';
import { commandTree } from '../../../src/cli/run-program.ts';
import { yamlOf } from './deploy-files.ts';

const labels = z.record(z.string(), z.string());
const selector = z.object({ matchLabels: labels });
const port = z.union([z.string(), z.number()]);
const deployment = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    replicas: z.number().min(2),
    selector,
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        securityContext: z.looseObject({}),
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.literal(30),
        containers: z.tuple([
          z.object({
            image: z.string(),
            args: z.array(z.string()),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            securityContext: z.looseObject({}),
            resources: z.object({
              requests: z.object({ cpu: z.string(), memory: z.string() }),
              limits: z.strictObject({ memory: z.string() }),
            }),
          }),
        ]),
      }),
    }),
  }),
});
const budget = z.object({
  kind: z.literal('PodDisruptionBudget'),
  spec: z.object({
    minAvailable: z.literal(1),
    unhealthyPodEvictionPolicy: z.literal('AlwaysAllow'),
    selector,
  }),
});
const job = z.object({ spec: z.object({ template: z.object({ metadata: z.object({ labels }) }) }) });
const policy = z.object({
  kind: z.literal('NetworkPolicy'),
  spec: z.object({
    podSelector: selector,
    policyTypes: z.tuple([z.literal('Ingress')]),
    ingress: z
      .array(z.object({ from: z.tuple([z.looseObject({})]), ports: z.tuple([z.object({ port })]) }))
      .default([]),
  }),
});
const service = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ selector: labels, ports: z.tuple([z.object({ name: z.string(), targetPort: port })]) }),
});
const backend = z.object({ service: z.object({ name: z.string(), port: z.object({ name: z.string() }) }) });
const ingress = z.object({
  spec: z.object({
    tls: z.tuple([z.object({ hosts: z.tuple([z.string()]) })]),
    rules: z.tuple([
      z.object({ host: z.string(), http: z.object({ paths: z.tuple([z.object({ backend })]) }) }),
    ]),
  }),
});
const monitor = z.object({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('PodMonitor'),
  spec: z.strictObject({
    selector,
    podMetricsEndpoints: z.tuple([z.strictObject({ port: z.string() })]),
  }),
});

const deployed = (file: string) => {
  const [first, second] = yamlOf(`kubernetes/${file}`);
  const { spec } = deployment.parse(first);
  return { ...spec, pod: spec.template, disruption: budget.parse(second).spec };
};

test.each(['relay.yaml', 'api.yaml'])(
  'on Kubernetes a node with a pod of %s that is not ready can be drained, while another one runs',
  (file) => {
    const { disruption, pod, selector: own } = deployed(file);
    for (const each of [pod.metadata.labels, disruption.selector.matchLabels])
      expect(each).toEqual(own.matchLabels);
  },
);

test('on Kubernetes the API is reached by TLS alone, at the port at which it listens', () => {
  const { pod } = deployed('api.yaml');
  const [, , third, fourth] = yamlOf('kubernetes/api.yaml');
  const [container] = pod.spec.containers;
  const [name, ...words] = container.args;
  const command = commandTree([]).commands.find((one) => one.name() === name);
  expect(command?.name()).toBe('api');
  expect(command?.parseOptions(words)).toEqual({ operands: [], unknown: [] });
  expect(command?.opts()).toMatchObject({ host: '0.0.0.0', port: '7676' });
  expect(command?.opts()).not.toHaveProperty('withoutSignIn');
  expect(container.ports).toEqual([{ name: 'http', containerPort: 7676 }]);

  const served = service.parse(third);
  const [{ name: portName, targetPort }] = served.spec.ports;
  expect(served.spec.selector).toEqual(pod.metadata.labels);
  expect(targetPort).toBe('http');
  const { rules, tls } = ingress.parse(fourth).spec;
  expect(tls[0].hosts).toEqual([rules[0].host]);
  expect(rules[0].http.paths[0].backend.service).toEqual({
    name: served.metadata.name,
    port: { name: portName },
  });
});

test('on Kubernetes the API is the same image as a relay, and as restricted', () => {
  const restrictionsOf = (file: string) => {
    const { containers, securityContext } = deployed(file).pod.spec;
    const [container] = containers;
    return [container.image, securityContext, container.securityContext];
  };
  expect(restrictionsOf('api.yaml')).toEqual(restrictionsOf('relay.yaml'));
});

test('on Kubernetes nobody connects to pods, but for the metrics of relays and the API', () => {
  const pods = [
    deployed('relay.yaml').pod.metadata.labels,
    deployed('api.yaml').pod.metadata.labels,
    job.parse(yamlOf('kubernetes/migrate.yaml')[0]).spec.template.metadata.labels,
  ];
  const policies = yamlOf('kubernetes/network.yaml').map((one) => policy.parse(one).spec);
  expect(policies.map(({ podSelector }) => podSelector.matchLabels)).toEqual(pods);
  expect(policies.map((one) => one.ingress.flatMap(({ ports }) => ports))).toEqual([
    [{ port: 'metrics' }],
    [{ port: 'http' }],
    [],
  ]);
});

test('the monitor of the Prometheus Operator reads the port of relays that has their metrics', () => {
  const { pod } = deployed('relay.yaml');
  const { spec } = monitor.parse(yamlOf('kubernetes/pod-monitor.yaml')[0]);
  expect(spec.selector.matchLabels).toEqual(pod.metadata.labels);
  const ports = pod.spec.containers[0].ports.map(({ name }) => name);
  expect(ports).toEqual(expect.arrayContaining(spec.podMetricsEndpoints.map((one) => one.port)));
});
