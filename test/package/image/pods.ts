import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

/** The YAML documents of a file of `deploy/`. */
export function deployYaml(file: string): readonly unknown[] {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../deploy', file), 'utf8');
  return parseAllDocuments(text, { merge: true }).map((document) => document.toJS() as unknown);
}

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number().default(1),
  failureThreshold: z.number().default(3),
});
export type Probe = z.output<typeof probe>;

// A field that is not here is not carried out, so that a new one fails.
const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  envFrom: z.tuple([z.strictObject({ secretRef: z.strictObject({ name: z.string() }) })]),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.number() })).default([]),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: z.string(), memory: z.string() }),
    limits: z.strictObject({ memory: z.string().regex(/^\d+Mi$/) }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
});

const pod = z.strictObject({
  restartPolicy: z.string().optional(),
  terminationGracePeriodSeconds: z.number().default(30),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number().min(1),
    runAsGroup: z.number().min(1),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  topologySpreadConstraints: z.array(z.unknown()).optional(),
  containers: z.tuple([container]),
  volumes: z.array(
    z.strictObject({
      name: z.string(),
      emptyDir: z.strictObject({ sizeLimit: z.string().regex(/^\d+Mi$/) }),
    }),
  ),
});

const workload = z.object({
  spec: z.object({ replicas: z.number().default(1), template: z.object({ spec: pod }) }),
});

/** What a workload of Kubernetes starts. */
export interface Pods {
  readonly replicas: number;
  readonly secret: string;
  readonly graceSeconds: number;
  readonly memoryMiB: number;
  /** Options of podman that do to a container what the manifest says. */
  readonly options: readonly string[];
  /** Its arguments, with ports of this machine in place of the container's own. */
  args(portOf: (containerPort: number) => number): readonly string[];
  readonly ports: Readonly<Record<string, number>>;
  readonly probes: { readonly live: Probe | undefined; readonly ready: Probe | undefined };
}

/** Reads the first document of a file of `deploy/kubernetes`. */
export function podsOf(file: string): Pods {
  const { spec } = workload.parse(deployYaml(`kubernetes/${file}`)[0]);
  const { containers, securityContext, terminationGracePeriodSeconds, volumes } = spec.template.spec;
  const [only] = containers;
  const sizes = new Map(volumes.map(({ emptyDir, name }) => [name, emptyDir.sizeLimit.replace('Mi', 'm')]));
  return {
    replicas: spec.replicas,
    secret: only.envFrom[0].secretRef.name,
    graceSeconds: terminationGracePeriodSeconds,
    memoryMiB: Number.parseInt(only.resources.limits.memory, 10),
    options: [
      ...restricted,
      `--user=${securityContext.runAsUser}:${securityContext.runAsGroup}`,
      ...only.volumeMounts.map(
        ({ mountPath, name }) => `--tmpfs=${mountPath}:rw,mode=1777,size=${sizes.get(name) ?? 0}`,
      ),
    ],
    args: (portOf) =>
      only.args.map((word) =>
        only.ports.reduce(
          (so, { containerPort }) =>
            so.replace(new RegExp(`(^|:)${containerPort}$`), `$1${portOf(containerPort)}`),
          word,
        ),
      ),
    ports: Object.fromEntries(only.ports.map(({ containerPort, name }) => [name, containerPort])),
    probes: { live: only.livenessProbe, ready: only.readinessProbe },
  };
}

/** A read-only root, without the folders that podman adds to it, no capability, no new right; seccomp is podman's own. */
export const restricted = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
];
