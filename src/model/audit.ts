/**
 * Lines of the audit log: a change by an operator, or a change of devices by an application. A line's ids are listed here, so
 * that no secret can be recorded by mistake: a field outside the list does not compile.
 */

export type AuditAction =
  | 'application.add'
  | 'application.remove'
  | 'bridge.add'
  | 'bridge.remove'
  | 'bridge.revoke'
  | 'call.end'
  | 'call.ticket'
  | 'call.watch'
  | 'credential.create'
  | 'credential.remove'
  | 'credential.revoke'
  | 'credential.rotate'
  | 'device.add'
  | 'device.change'
  | 'device.disable'
  | 'device.kick'
  | 'device.message'
  | 'device.remove'
  | 'device.wake'
  | 'ops-token.create'
  | 'ops-token.revoke'
  | 'product.add'
  | 'product.remove'
  | 'registry.cancel-import'
  | 'registry.import'
  | 'registry.seed'
  | 'server.upgrade'
  | 'settings.reload'
  | 'token-key.retire'
  | 'token-key.rotate'
  | 'webhook.add'
  | 'webhook.enable'
  | 'webhook.remove'
  | 'webhook.replay'
  | 'webhook.test';

/** Ids that describe the change; never a secret. */
export const auditIds = [
  'access_key_id',
  'app_id',
  'app_ids',
  'bridge_id',
  'counts',
  'deleted',
  'delivered',
  'device_id',
  'device_ids',
  'disabled',
  'dropped',
  'dry_run',
  'event_id',
  'file',
  'grace_s',
  'import',
  'kicked',
  'kid',
  'name',
  'new_access_key_id',
  'permissions',
  'product_id',
  'reason',
  'replace',
  'replayed',
  'request_id',
  'revoked',
  'role',
  'session',
  'sha256',
  'skipped',
  'url',
] as const;
export type AuditId = (typeof auditIds)[number];

export type AuditIds = Readonly<Partial<Record<AuditId, unknown>>>;

export interface AuditOrigin {
  /**
   * Name of the token. `api`: an application by its credential; `cli`: an import into a store at rest, or its first entries;
   * `signal`: SIGHUP; `start`: the start of the server.
   */
  readonly operator: string;
  /** Null: no token was presented. */
  readonly role: OpsRole | null;
  /** Operating system user, for `cli`. */
  readonly user?: string;
  /** Remote address, or process id. */
  readonly from: string;
}

export interface AuditIntent extends AuditOrigin {
  readonly action: AuditAction;
  readonly ids: AuditIds;
}

/** `refused`: nothing changed, and the operator can correct the cause. `failed`: part of the change may have been made. */
export interface AuditOutcome {
  readonly result: 'ok' | 'refused' | 'failed';
  readonly reason?: string;
  /** Ids known only after the change. */
  readonly ids?: AuditIds;
}

/** `unknown`: under way, or the process was killed during the change. */
export type AuditResult = AuditOutcome['result'] | 'unknown';

export interface AuditLine extends AuditOrigin {
  /** Time of the request: ISO 8601 with milliseconds. */
  readonly at: string;
  readonly action: string;
  readonly ids: AuditIds;
  readonly result: AuditResult;
  readonly reason?: string;
}

export const opsRoles = ['viewer', 'operator'] as const;
/** A viewer reads lists, states and events, and changes nothing. */
export type OpsRole = (typeof opsRoles)[number];

export interface Operator {
  readonly name: string;
  readonly role: OpsRole;
}

/** Holder of `ops.token`, which the first start creates for this machine's command line. */
export const localOperator: Operator = { name: 'local', role: 'operator' };

/** Names that audit lines use for changes without a token. */
const reservedNames: ReadonlySet<string> = new Set([localOperator.name, 'api', 'cli', 'signal', 'start']);
const nameForm = /^[A-Za-z0-9][\w.@-]{0,63}$/;

export const operatorNameForm = '1-64 characters of A-Z a-z 0-9 _ . @ -, beginning with a letter or digit';

export function isOperatorName(text: string): boolean {
  return nameForm.test(text) && !reservedNames.has(text);
}
