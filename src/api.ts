export { type ApiHandler, type ApiOptions, apiHandler } from './api/handler.ts';
export { type ApiListener, apiListener } from './api/node-listener.ts';
export { anyOf } from './api/sign-in/any-of.ts';
export { type BasicUser, type BasicUserOptions, basicUsers } from './api/sign-in/basic-users.ts';
export { openIdConnect } from './api/sign-in/open-id-connect.ts';
export type {
  OpenIdConnectOptions,
  SignInRoles,
  SignInSession,
} from './api/sign-in/open-id-connect-options.ts';
export { hashPassword } from './api/sign-in/password-hash.ts';
export type { Rights } from './api/sign-in/rights.ts';
export type { OperationsConfig } from './app/operations/operations.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export type { GroupConfig } from './config/groups-config.ts';
export type { Logger } from './config/logger.ts';
export type { TemporalConfig } from './config/temporal-config.ts';
export type { Authentication, Caller, Role } from './core/authentication.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { ConfirmRules, RateRules, Topic, TopicRules } from './core/topic.ts';
export type { Upcast, VersionRules } from './core/topic-version.ts';
