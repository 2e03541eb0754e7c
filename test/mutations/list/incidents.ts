import type { Mutation } from '../mutation.ts';

const promise = 'Alerts are told once';

export const incidentMutations: readonly Mutation[] = [
  {
    name: 'alert-leads-to-no-section',
    promise,
    file: 'src/alerts/runbook-entry.ts',
    find: 'alert.toLowerCase()',
    replace: 'alert',
    test: 'test/unit/house/architecture.test.ts',
    title: 'docs/runbook.md has a section for every alert',
  },
];
