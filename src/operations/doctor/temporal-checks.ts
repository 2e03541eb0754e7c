import { type DoctorCheck, fine, warning } from '../../core/diagnosis.ts';

/** What Temporal says about itself and a namespace. */
export interface TemporalFacts {
  readonly address: string;
  readonly namespace: string;
  readonly version: string;
  /** Search attributes that the namespace lacks; `undefined`: it does not say. */
  readonly missingAttributes: readonly string[] | undefined;
  /** By this machine's clock, how long ago Temporal saw a relay ask for work, at its clock; `undefined`: it saw none. */
  readonly polledMs: number | undefined;
}

/** A worker that waits for work asks again every minute. */
const pollMs = 60_000;
const tolerableMs = 5_000;

/** Temporal's namespace and clock. */
export const temporalChecks: readonly DoctorCheck<TemporalFacts>[] = [
  {
    check: 'search attributes',
    judge({ address, missingAttributes, namespace }) {
      if (missingAttributes === undefined)
        return warning(
          'This client may not list them, so workflows may not be searchable by topic, key and ref.',
          'Look in the UI of Temporal for OutboxTopic, OutboxKey and OutboxRef.',
        );
      if (missingAttributes.length === 0) return fine('Workflows are searchable by topic, key and ref.');
      const pairs = missingAttributes.map((name) => `--name ${name} --type Keyword`).join(' ');
      return warning(
        `The namespace lacks ${missingAttributes.join(', ')}: workflows are not searchable by them.`,
        `temporal operator search-attribute create --address ${address} --namespace ${namespace} ${pairs}`,
      );
    },
  },
  {
    check: 'temporal clock',
    judge({ polledMs }) {
      if (polledMs === undefined) return undefined;
      const next = 'Synchronise both clocks by NTP: chronyc tracking';
      if (polledMs < -tolerableMs)
        return warning(
          `Temporal's clock is at least ${Math.round(-polledMs / 1_000)} s ahead of this machine's: times in its UI are off by that.`,
          next,
        );
      if (polledMs > 2 * pollMs)
        return warning(
          `Temporal's clock is behind this machine's by ${Math.round((polledMs - pollMs) / 1_000)} s or more, or no relay asks for work any more.`,
          next,
        );
      return fine("It is within a minute of this machine's.");
    },
  },
];
