/** Operators' changes to single registry entries; those of credentials and bridges are defined here. */
import { z } from 'zod';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { AccessKeyId, ApplicationId } from '../../model/ids.ts';
import { momentTooFar } from '../../model/device-terms.ts';
import { unixSecondsMax } from '../../model/provisioning-limits.ts';
import { permissions, type Bridge, type Credential } from '../../model/registry.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { generateBridgeKey, type RegistryWriter } from '../../storage/registry/registry-write.ts';
import {
  changeRoute,
  answerEntry,
  refuseEntry,
  type AdminAnswer,
  type AdminRoute,
} from '../ops/admin-route.ts';
import { deviceChangeRoutes, type DeviceChangeDeps } from './device-changes.ts';
import { entryRoutes, type EntryChangeDeps } from './entry-routes.ts';

export interface RegistryChangeDeps extends DeviceChangeDeps, EntryChangeDeps {
  readonly clock: Clock;
  readonly writer: RegistryWriter;
  /** Called after every change to a credential; drops the keys derived from it. */
  forgetDerivedKeys(): void;
}

const accessKeyId = z.string().min(1) as unknown as z.ZodType<AccessKeyId>;
const unixSeconds = z.number().int().nonnegative().max(unixSecondsMax, momentTooFar).nullable().default(null);
const grants = z
  .array(z.enum([...permissions, '*']))
  .min(1)
  .default(['*']);

const dayS = 86_400;

export function registryRoutes(deps: RegistryChangeDeps): AdminRoute[] {
  return [
    ...deviceChangeRoutes(deps),
    ...bridgeRoutes(deps),
    ...entryRoutes(deps),
    changeRoute('/v1/credential/create', credentialBody, (body) => createCredential(deps, body), {
      answered: { access_key_id: 'credential.access_key_id' },
    }),
    changeRoute('/v1/credential/rotate', rotateBody, (body) => rotateCredential(deps, body), {
      answered: { new_access_key_id: 'credential.access_key_id' },
    }),
    changeRoute('/v1/credential/revoke', credentialName, async ({ access_key_id: id }) => {
      const revoked = await deps.writer.update('credential', id, (credential) => ({
        ...credential,
        revoked: true,
      }));
      return answerCredential(deps, revoked, () => ({ revoked: id }));
    }),
    changeRoute('/v1/credential/remove', credentialName, async ({ access_key_id: id }) =>
      answerCredential(deps, await deps.writer.remove('credential', id), () => ({ removed: id })),
    ),
  ];
}

const credentialBody = z.strictObject({
  app_id: z.string().min(1),
  permissions: grants,
  not_before: unixSeconds,
  not_after: unixSeconds,
});
const credentialName = z.strictObject({ access_key_id: accessKeyId });
const rotateBody = z.strictObject({
  access_key_id: accessKeyId,
  grace_s: z.number().int().nonnegative().default(dayS),
});

async function createCredential(
  deps: RegistryChangeDeps,
  body: z.output<typeof credentialBody>,
): Promise<AdminAnswer> {
  const created = await deps.writer.createCredential({
    appId: body.app_id as ApplicationId,
    grants: body.permissions,
    notBefore: body.not_before,
    notAfter: body.not_after,
  });
  return answerCredential(deps, created);
}

async function rotateCredential(
  deps: RegistryChangeDeps,
  body: z.output<typeof rotateBody>,
): Promise<AdminAnswer> {
  const oldNotAfter = Math.min(wallSeconds(deps.clock) + body.grace_s, unixSecondsMax);
  const rotated = await deps.writer.rotateCredential(body.access_key_id, oldNotAfter);
  const replaced = { replaced: body.access_key_id, replaced_not_after: oldNotAfter };
  return answerCredential(deps, rotated, (fresh) => ({ ...encodeCredential(fresh), ...replaced }));
}

function answerCredential(
  deps: RegistryChangeDeps,
  outcome: Result<Credential, MissingEntry>,
  bodyOf: (credential: Credential) => object = encodeCredential,
): AdminAnswer {
  deps.forgetDerivedKeys();
  return answerEntry(outcome, bodyOf);
}

function encodeCredential(credential: Credential): object {
  return { credential: writeEntry('credential', credential) };
}

const bridgeBody = z.strictObject({ bridge_id: z.string(), app_ids: z.array(z.string()).min(1) });
const bridgeRemoveBody = z.strictObject({ bridge_id: z.string().min(1) });
const bridgeRevokeBody = z.strictObject({ bridge_id: z.string().min(1), revoked: z.boolean().default(true) });

/**
 * `POST /v1/bridge/add` creates a bridge with a random key, returned once and stored only as its hash; `POST /v1/bridge/revoke`
 * refuses its key from now on, or with `revoked` false accepts it again; `POST /v1/bridge/remove` deletes the bridge.
 */
function bridgeRoutes(deps: RegistryChangeDeps): AdminRoute[] {
  return [
    changeRoute('/v1/bridge/add', bridgeBody, (body) => addBridge(deps, body)),
    changeRoute(
      '/v1/bridge/revoke',
      bridgeRevokeBody,
      async ({ bridge_id: id, revoked }) =>
        answerBridge(deps, await deps.writer.update('bridge', id, (bridge) => ({ ...bridge, revoked }))),
      { answered: { revoked: 'bridge.revoked' } },
    ),
    changeRoute('/v1/bridge/remove', bridgeRemoveBody, async ({ bridge_id: id }) =>
      answerBridge(deps, await deps.writer.remove('bridge', id)),
    ),
  ];
}

async function addBridge(deps: RegistryChangeDeps, body: z.output<typeof bridgeBody>): Promise<AdminAnswer> {
  const { key, keySha256 } = generateBridgeKey();
  const parsed = parseEntry('bridge', { ...body, key_sha256: keySha256 });
  if (!parsed.ok) return refuseEntry(parsed.error);
  const added = await deps.writer.put('bridge', parsed.value);
  if (added.ok) deps.changed();
  return answerEntry(added, (bridge) => ({ bridge: writeEntry('bridge', bridge), key }));
}

function answerBridge(deps: RegistryChangeDeps, changed: Result<Bridge, MissingEntry>): AdminAnswer {
  if (changed.ok) deps.changed();
  return answerEntry(changed, (bridge) => ({ bridge: writeEntry('bridge', bridge) }));
}
