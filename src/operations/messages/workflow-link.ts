import type { Setting } from '../../store/installation/settings.ts';

/**
 * Link to a workflow in the Temporal UI, from the settings of the last relay; `null` if no UI is known.
 */
export function workflowLink(settings: readonly Setting[], workflowId: string): string | null {
  const valueOf = (name: string): string | undefined => settings.find((one) => one.name === name)?.value;
  const ui = valueOf('temporal.ui');
  if (ui === undefined || !URL.canParse(ui)) return null;
  const namespace = encodeURIComponent(valueOf('temporal.namespace') ?? 'default');
  return `${ui.replace(/\/+$/, '')}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`;
}
