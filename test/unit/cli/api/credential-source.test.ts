import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseCredential,
  findCredential,
  type CredentialNeed,
} from '../../../../src/cli/api/credential-source.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import type { LocalRegistry } from '../../../../src/cli/admin/local-registry.ts';
import type { JsonObject } from '../../../../src/model/json.ts';

/** The product of device DOOR-1 belongs to application `other`. */
async function chosen(credentials: readonly object[], need: CredentialNeed): Promise<string | undefined> {
  const entries: Readonly<Record<string, JsonObject>> = {
    'device DOOR-1': { device_id: 'DOOR-1', product_id: 'doorbell' },
    'product doorbell': { product_id: 'doorbell', app_ids: ['other'] },
  };
  const registry: Pick<LocalRegistry, 'find' | 'export'> = {
    find: async (kind, id) => entries[`${kind} ${id}`] ?? null,
    async *export() {
      for (const entry of credentials)
        yield Buffer.from(`${JSON.stringify({ kind: 'credential', ...entry })}\n`);
    },
  };
  return (await chooseCredential(registry, need, nowS))?.accessKeyId;
}

function credential(id: string, more: object = {}): object {
  return { access_key_id: id, secret_key: 's', app_id: 'app', permissions: ['*'], ...more };
}

const nowS = 1000;
test('the environment provides a complete credential or none', async () => {
  const variables = { REVEILLE_ACCESS_KEY_ID: 'AK', REVEILLE_SECRET_KEY: 'a secret', REVEILLE_APP_ID: 'app' };
  const context = new CommandContext({}, variables);
  assert.deepEqual(await findCredential(context, {}, wake), {
    accessKeyId: 'AK',
    secretKey: 'a secret',
    appId: 'app',
  });
  assert.ok(context.settings, 'they are taken for no settings');
  const part = new CommandContext({}, { ...variables, REVEILLE_APP_ID: '' });
  await assert.rejects(findCredential(part, {}, wake), /^CommandError: REVEILLE_APP_ID is missing/);
});

const wake = { permissions: ['wakeup:write'], deviceId: null } as const;

test('credentials that are revoked, expired, not yet valid or without the permission are skipped', async () => {
  const none = [
    credential('AK1', { revoked: true }),
    credential('AK2', { not_after: nowS }),
    credential('AK3', { not_before: nowS + 1 }),
    credential('AK4', { permissions: ['connectivity:read'] }),
  ];
  assert.equal(await chosen(none, wake), undefined);
  const good = [credential('AK5', { permissions: ['wakeup:write'] }), credential('AK6')];
  assert.equal(await chosen([...none, ...good], wake), 'AK5');
});

test('a credential whose application has the device is preferred, and any other is better than none', async () => {
  const [any, its] = [credential('AK1'), credential('AK2', { app_id: 'other' })];
  assert.equal(await chosen([any, its], { ...wake, deviceId: 'DOOR-1' }), 'AK2');
  assert.equal(await chosen([any], { ...wake, deviceId: 'DOOR-1' }), 'AK1');
  assert.equal(await chosen([any, its], { ...wake, deviceId: 'UNKNOWN' }), 'AK1');
});
