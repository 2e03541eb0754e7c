import { type DeclaredOperation, summaryOf } from '../operations/declared.ts';
import type { Inputs } from '../operations/inputs/values.ts';
import type { Described } from './operation.ts';

type Declaration = Pick<DeclaredOperation<never, unknown>, 'allTopics' | 'overHttp' | 'role' | 'text'>;

/** What the request of an operation that only reads has of its declaration. */
export function readRequest(declared: Declaration) {
  return { method: 'GET', way: 'read', ...rightsAndWords(declared) } as const;
}

/** The same of one that changes something, in one transaction. */
export function changeRequest<const Of extends Inputs, const Options extends Inputs>(
  declared: Declaration & { readonly of: Of; readonly options: Options },
) {
  return {
    method: 'POST',
    way: 'change',
    once: true,
    ...rightsAndWords(declared),
    params: declared.of,
    body: declared.options,
  } as const;
}

/** The same of one whose body also has what it is of. */
export function bodyChangeRequest<const Of extends Inputs, const Options extends Inputs>(
  declared: Declaration & { readonly of: Of; readonly options: Options },
) {
  return {
    method: 'POST',
    way: 'change',
    once: true,
    ...rightsAndWords(declared),
    body: { ...declared.of, ...declared.options },
  } as const;
}

function rightsAndWords(declared: Declaration): Pick<Described, 'allTopics' | 'role' | 'summary'> {
  const { allTopics, role } = declared;
  return { role, summary: summaryOf(declared), ...(allTopics !== undefined && { allTopics }) };
}
