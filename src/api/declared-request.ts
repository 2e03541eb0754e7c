import { type DeclaredOperation, summaryOf } from '../operations/declared.ts';
import type { Inputs } from '../operations/inputs/values.ts';

type Declaration = Pick<DeclaredOperation<never, unknown>, 'overHttp' | 'role' | 'text'>;

/** What the request of an operation that only reads has of its declaration. */
export function readRequest(declared: Declaration) {
  return { method: 'GET', way: 'read', role: declared.role, summary: summaryOf(declared) } as const;
}

/** The same of one that changes something, in one transaction. */
export function changeRequest<const Of extends Inputs, const Options extends Inputs>(
  declared: Declaration & { readonly of: Of; readonly options: Options },
) {
  return {
    method: 'POST',
    way: 'change',
    once: true,
    role: declared.role,
    summary: summaryOf(declared),
    params: declared.of,
    body: declared.options,
  } as const;
}
