import { z } from 'zod';
import { OutboxError } from '../core/errors.ts';

/** A value of this shape, or a function, whose result is checked when it is called. */
export function lazily(shape: z.ZodType): z.ZodType {
  return z.unknown().superRefine((value, context) => {
    if (typeof value !== 'function') addIssues(context, shape.safeParse(value));
  });
}

/** `true`, `false`, or options of this shape. */
export function switchOr(options: z.ZodType): z.ZodType {
  return z.unknown().superRefine((value, context) => {
    if (typeof value !== 'boolean') addIssues(context, options.safeParse(value));
  });
}

function addIssues(context: z.RefinementCtx, { error }: z.ZodSafeParseResult<unknown>): void {
  for (const { message, path } of error?.issues ?? [])
    context.addIssue({ code: 'custom', message, path: [...path] });
}

/**
 * Checks settings.
 *
 * @param setting name of the setting that contains them; omitted for the whole configuration
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong one
 */
export function checkSettings(shape: z.ZodType, value: unknown, setting?: string): void {
  const result = shape.safeParse(value);
  if (result.success) return;
  const issues = result.error.issues.map(({ path, message }) => ({
    setting: [...(setting === undefined ? [] : [setting]), ...path].join('.') || '(whole)',
    problem: message,
  }));
  throw new OutboxError(
    'OUTBOX_CONFIG_INVALID',
    `The configuration is invalid: ${issues.map((issue) => `${issue.setting} ${issue.problem}`).join('; ')}.`,
    { details: { issues } },
  );
}
