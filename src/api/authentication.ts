export type { Authentication, Caller, Role } from '../core/authentication.ts';
