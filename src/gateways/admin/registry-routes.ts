/** Changes of the registry by an operator, entry by entry. Those of credentials are here. */
import { z } from 'zod';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { AccessKeyId, ApplicationId } from '../../model/ids.ts';
import { momentTooFar } from '../../model/device-terms.ts';
import { unixSecondsMax } from '../../model/provisioning-limits.ts';
import { permissions, type Credential } from '../../model/registry.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';
import { writeEntry } from '../../storage/registry/registry-entry.ts';
import type { RegistryWriter } from '../../storage/registry/registry-write.ts';
import { changeRoute, missingEntry, type AdminReply, type AdminRoute } from '../ops/admin-route.ts';
import { bridgeRoutes } from './bridge-routes.ts';
import { deviceChangeRoutes, type DeviceChangeDeps } from './device-changes.ts';
import { entryRoutes, type EntryChangeDeps } from './entry-routes.ts';

export interface RegistryChangeDeps extends DeviceChangeDeps, EntryChangeDeps {
  readonly clock: Clock;
  readonly writer: RegistryWriter;
  /** Called after every change of a credential: drops the keys derived from it. */
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
    changeRoute(
      '/v1/credential/create',
      credentialBody,
      {
        action: 'credential.create',
        asked: ['app_id', 'permissions'],
        answered: { access_key_id: 'credential.access_key_id' },
      },
      (body) => createCredential(deps, body),
    ),
    changeRoute(
      '/v1/credential/rotate',
      rotateBody,
      {
        action: 'credential.rotate',
        asked: ['access_key_id', 'grace_s'],
        answered: { new_access_key_id: 'credential.access_key_id' },
      },
      (body) => rotateCredential(deps, body),
    ),
    changeRoute(
      '/v1/credential/revoke',
      z.strictObject({ access_key_id: accessKeyId }),
      { action: 'credential.revoke', asked: ['access_key_id'] },
      (body) => revokeCredential(deps, body),
    ),
    changeRoute(
      '/v1/credential/remove',
      z.strictObject({ access_key_id: accessKeyId }),
      { action: 'credential.remove', asked: ['access_key_id'] },
      async (body) => {
        const removed = await deps.writer.remove('credential', body.access_key_id);
        deps.forgetDerivedKeys();
        return removed.ok
          ? { status: 200, body: { removed: body.access_key_id } }
          : missingEntry(removed.error);
      },
    ),
  ];
}

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
  const oldNotAfter = Math.min(wallSeconds(deps.clock) + body.grace_s, unixSecondsMax);
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

function credentialReply(
  deps: RegistryChangeDeps,
  outcome: Result<Credential, MissingEntry>,
  more: object = {},
): AdminReply {
  deps.forgetDerivedKeys();
  if (!outcome.ok) return missingEntry(outcome.error);
  return { status: 200, body: { credential: writeEntry('credential', outcome.value), ...more } };
}
