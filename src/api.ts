export { type ApiHandler, type ApiOptions, apiHandler } from './api/handler.ts';
export type { OperationsConfig } from './app/operations/operations.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export type { Logger } from './config/logger.ts';
export type { TemporalConfig } from './config/temporal-config.ts';
export type { Authentication, Caller, Role } from './core/authentication.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { ConfirmRules, RateRules, Topic, TopicRules } from './core/topic.ts';
export type { Upcast, VersionRules } from './core/topic-version.ts';
