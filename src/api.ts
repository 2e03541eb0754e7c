export type { Authentication, Caller, Role } from './api/authentication.ts';
export { type ApiHandler, type ApiOptions, apiHandler } from './api/handler.ts';
export type { OperationsConfig } from './app/operations/operations.ts';
