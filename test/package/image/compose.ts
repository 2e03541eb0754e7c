import { z } from 'zod';
import { deployYaml, restricted } from './pods.ts';

const service = z.object({
  environment: z.record(z.string(), z.string()),
  command: z.array(z.string()).default([]),
  expose: z.array(z.string()).default([]),
  read_only: z.literal(true),
  tmpfs: z.array(z.string()),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .default('10s'),
});

/** A service of compose that is made of the application's image. */
interface ComposeService {
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly expose: readonly string[];
  readonly graceSeconds: number;
  /** Options of podman that do to a container what the file says. */
  readonly options: readonly string[];
}

/** The services of `deploy/compose.yaml` that run the application's image. */
export function composeRelay(): { readonly migrate: ComposeService; readonly relay: ComposeService } {
  const file = z.object({ services: z.object({ migrate: service, relay: service }) });
  const { migrate, relay } = file.parse(deployYaml('compose.yaml')[0]).services;
  const carriedOut = (given: z.output<typeof service>): ComposeService => ({
    environment: given.environment,
    command: given.command,
    expose: given.expose,
    graceSeconds: Number.parseInt(given.stop_grace_period, 10),
    options: [...restricted, ...given.tmpfs.map((folder) => `--tmpfs=${folder}`)],
  });
  return { migrate: carriedOut(migrate), relay: carriedOut(relay) };
}
