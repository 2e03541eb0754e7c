import type { SettledTemporal } from '../../config/temporal-config.ts';
import type { Setting } from '../../store/installation/settings.ts';

/** Where Temporal is, as stored for operators; links to workflows are built from it. */
export function temporalInWords({ address, namespace, ui }: SettledTemporal): readonly Setting[] {
  return [
    { name: 'temporal.address', value: address },
    { name: 'temporal.namespace', value: namespace },
    { name: 'temporal.ui', value: ui ?? localUi(address) ?? 'unknown' },
  ];
}

/** By default, the development server listens on 7233 and serves its UI on that port plus 1000. */
function localUi(address: string): string | undefined {
  return /^(?:localhost|127\.0\.0\.1):7233$/.test(address) ? 'http://localhost:8233' : undefined;
}
