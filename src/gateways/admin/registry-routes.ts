/**
 * Changes of devices, credentials and bridges: of a running server, and of the command line on a store at rest. Reads need no
 * route, because the store may be read by any process of its owner.
 */
import { z } from 'zod';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import {
  parseDeviceId,
  type AccessKeyId,
  type ApplicationId,
  type DeviceId,
  type BridgeId,
} from '../../model/ids.ts';
import { permissions, type Bridge, type Credential, type Device } from '../../model/registry.ts';
import {
  type AdminReply,
  type AdminRoute,
  type AuditTerms,
  changeRoute,
  missingEntry,
} from '../ops/admin-route.ts';
import {
  generateSecret,
  generateBridgeKey,
  type MissingEntry,
  type RegistryWriter,
} from '../../storage/registry/registry-write.ts';
import type { EntryRules } from '../../storage/registry/entry-reader.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import type { Result } from '../../lib/result.ts';

export interface RegistryChangeDeps {
  readonly clock: Clock;
  readonly writer: RegistryWriter;
  readonly rules: EntryRules;
  /** Called after every change of a credential: drops the keys derived from it. */
  forgetDerivedKeys(): void;
  /** Called after every change of a device: ends the sessions and calls that it may no longer have. */
  changed(): void;
}

export const deviceIdField = z.string().transform((text, context): DeviceId => {
  const parsed = parseDeviceId(text);
  if (parsed === null) context.addIssue('1-255 bytes of valid UTF-8');
  return parsed ?? z.NEVER;
});
const accessKeyId = z.string().min(1) as unknown as z.ZodType<AccessKeyId>;
const unixSeconds = z.number().int().nonnegative().nullable().default(null);
const grants = z
  .array(z.enum([...permissions, '*']))
  .min(1)
  .default(['*']);

const dayS = 86_400;

export function registryRoutes(deps: RegistryChangeDeps): AdminRoute[] {
  return [
    changeRoute('/v1/device/add', deviceBody, audited.addDevice, (body) => addDevice(deps, body)),
    changeRoute('/v1/device/disable', disableBody, audited.disableDevice, (body) =>
      disableDevice(deps, body),
    ),
    changeRoute('/v1/credential/create', credentialBody, audited.createCredential, (body) =>
      createCredential(deps, body),
    ),
    changeRoute('/v1/credential/rotate', rotateBody, audited.rotateCredential, (body) =>
      rotateCredential(deps, body),
    ),
    changeRoute(
      '/v1/credential/revoke',
      z.strictObject({ access_key_id: accessKeyId }),
      audited.revokeCredential,
      (body) => revokeCredential(deps, body),
    ),
  ];
}

const audited = {
  addDevice: { action: 'device.add', asked: ['device_id', 'product_id', 'disabled'] },
  disableDevice: {
    action: 'device.disable',
    asked: ['device_id'],
    answered: { disabled: 'device.disabled' },
  },
  createCredential: {
    action: 'credential.create',
    asked: ['app_id', 'permissions'],
    answered: { access_key_id: 'credential.access_key_id' },
  },
  rotateCredential: {
    action: 'credential.rotate',
    asked: ['access_key_id', 'grace_s'],
    answered: { new_access_key_id: 'credential.access_key_id' },
  },
  revokeCredential: { action: 'credential.revoke', asked: ['access_key_id'] },
} as const satisfies Record<string, AuditTerms>;

const deviceBody = z.strictObject({
  device_id: deviceIdField,
  product_id: z.string().min(1),
  secret: z.string().min(1).optional(),
  expires_at: unixSeconds,
  disabled: z.boolean().default(false),
});
const disableBody = z.strictObject({ device_id: deviceIdField, disabled: z.boolean().default(true) });
const credentialBody = z.strictObject({
  app_id: z.string().min(1),
  permissions: grants,
  not_before: unixSeconds,
  not_after: unixSeconds,
});
const rotateBody = z.strictObject({
  access_key_id: accessKeyId,
  grace_s: z.number().int().nonnegative().default(dayS),
});

async function addDevice(deps: RegistryChangeDeps, body: z.output<typeof deviceBody>): Promise<AdminReply> {
  const device = parseEntry('device', { ...body, secret: body.secret ?? generateSecret() }, deps.rules);
  if (!device.ok) return { status: 400, body: { error: `${device.error.field} ${device.error.reason}` } };
  const added = await deps.writer.putDevice(device.value);
  deps.changed();
  return deviceReply(added, body.secret === undefined);
}

/** A disabled device is one that does not exist, so its sessions and its calls end. */
async function disableDevice(
  deps: RegistryChangeDeps,
  body: z.output<typeof disableBody>,
): Promise<AdminReply> {
  const changed = await deps.writer.disableDevice(body.device_id, body.disabled);
  deps.changed();
  return deviceReply(changed, false);
}

async function createCredential(
  deps: RegistryChangeDeps,
  body: z.output<typeof credentialBody>,
): Promise<AdminReply> {
  const created = await deps.writer.createCredential({
    appId: body.app_id as ApplicationId,
    grants: body.permissions,
    notBefore: body.not_before,
    notAfter: body.not_after,
  });
  return credentialReply(deps, created);
}

async function rotateCredential(
  deps: RegistryChangeDeps,
  body: z.output<typeof rotateBody>,
): Promise<AdminReply> {
  const oldNotAfter = wallSeconds(deps.clock) + body.grace_s;
  const rotated = await deps.writer.rotateCredential(body.access_key_id, oldNotAfter);
  return credentialReply(deps, rotated, { replaced: body.access_key_id, replaced_not_after: oldNotAfter });
}

async function revokeCredential(
  deps: RegistryChangeDeps,
  body: { access_key_id: AccessKeyId },
): Promise<AdminReply> {
  const revoked = await deps.writer.revokeCredential(body.access_key_id);
  deps.forgetDerivedKeys();
  return revoked.ok ? { status: 200, body: { revoked: body.access_key_id } } : missingEntry(revoked.error);
}

/** `isSecretFresh`: it was made just now, and no other answer has it. */
function deviceReply(outcome: Result<Device, MissingEntry>, isSecretFresh: boolean): AdminReply {
  if (!outcome.ok) return missingEntry(outcome.error);
  const device = writeEntry('device', outcome.value);
  return { status: 200, body: { device: isSecretFresh ? device : maskSecrets(device) } };
}

function credentialReply(
  deps: RegistryChangeDeps,
  outcome: Result<Credential, MissingEntry>,
  more: object = {},
): AdminReply {
  deps.forgetDerivedKeys();
  if (!outcome.ok) return missingEntry(outcome.error);
  return { status: 200, body: { credential: writeEntry('credential', outcome.value), ...more } };
}

export interface BridgeDeps {
  readonly writer: Pick<RegistryWriter, 'putBridge' | 'revokeBridge' | 'removeBridge'>;
  /** Called after every change: a connected bridge may have lost its right to be one. */
  changed(): void;
}

const bridgeBody = z.strictObject({ bridge_id: z.string(), app_ids: z.array(z.string()).min(1) });
const bridgeRemoveBody = z.strictObject({ bridge_id: z.string() });
const bridgeRevokeBody = z.strictObject({ bridge_id: z.string(), revoked: z.boolean().default(true) });

/**
 * `POST /v1/bridge/add` makes a bridge with a random key, which is answered once and stored as its hash only;
 * `POST /v1/bridge/revoke` refuses its key from now on, or with `revoked` false accepts it again; `POST /v1/bridge/remove`
 * forgets it.
 */
export function bridgeRoutes(deps: BridgeDeps): AdminRoute[] {
  return [
    changeRoute(
      '/v1/bridge/add',
      bridgeBody,
      { action: 'bridge.add', asked: ['bridge_id', 'app_ids'] },
      (body) => addBridge(deps, body),
    ),
    changeRoute(
      '/v1/bridge/revoke',
      bridgeRevokeBody,
      { action: 'bridge.revoke', asked: ['bridge_id'], answered: { revoked: 'bridge.revoked' } },
      async ({ bridge_id: id, revoked }) =>
        bridgeReply(deps, await deps.writer.revokeBridge(id as BridgeId, revoked)),
    ),
    changeRoute(
      '/v1/bridge/remove',
      bridgeRemoveBody,
      { action: 'bridge.remove', asked: ['bridge_id'] },
      async (body) => bridgeReply(deps, await deps.writer.removeBridge(body.bridge_id as BridgeId)),
    ),
  ];
}

async function addBridge(deps: BridgeDeps, body: z.output<typeof bridgeBody>): Promise<AdminReply> {
  const { key, keySha256 } = generateBridgeKey();
  const parsed = parseEntry('bridge', { ...body, key_sha256: keySha256 });
  if (!parsed.ok) return { status: 400, body: { error: `${parsed.error.field} ${parsed.error.reason}` } };
  const added = await deps.writer.putBridge(parsed.value);
  if (!added.ok) return missingEntry(added.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', added.value), key } };
}

function bridgeReply(deps: BridgeDeps, changed: Result<Bridge, MissingEntry>): AdminReply {
  if (!changed.ok) return missingEntry(changed.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', changed.value) } };
}
