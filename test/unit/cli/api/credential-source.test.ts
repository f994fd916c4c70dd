import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseCredential,
  findCredential,
  type CredentialNeed,
} from '../../../../src/cli/api/credential-source.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import type { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';

const deviceId = 'DOOR-1' as DeviceId;
const productId = 'doorbell' as ProductId;

/** Device DOOR-1 is of a product of application `other`. */
const registry: Pick<RegistryStore, 'findDevice' | 'findProduct'> = {
  findDevice: (id) =>
    id === deviceId ? { deviceId, productId, secret: 's', expiresAt: null, disabled: false } : null,
  findProduct: (id) => (id === productId ? { productId, appIds: ['other' as ApplicationId] } : null),
};

function chosen(credentials: readonly Credential[], need: CredentialNeed): string | undefined {
  return chooseCredential(registry, credentials, need, nowS)?.accessKeyId;
}

function credential(accessKeyId: string, more: Partial<Credential> = {}): Credential {
  const base = { secretKey: 's', notBefore: null, notAfter: null, revoked: false };
  const appId = 'app' as ApplicationId;
  return { ...base, accessKeyId: accessKeyId as AccessKeyId, appId, grants: ['*'], ...more };
}

const nowS = 1000;
test('the environment has the credential, whole or not at all', async () => {
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

test('what is revoked, over, too early or without the permission is passed over', () => {
  const none = [
    credential('AK1', { revoked: true }),
    credential('AK2', { notAfter: nowS }),
    credential('AK3', { notBefore: nowS + 1 }),
    credential('AK4', { grants: ['connectivity:read'] }),
  ];
  assert.equal(chosen(none, wake), undefined);
  const good = [credential('AK5', { grants: ['wakeup:write'] }), credential('AK6')];
  assert.equal(chosen([...none, ...good], wake), 'AK5');
});

test('a credential whose application has the device goes first, any other before none', () => {
  const [any, its] = [credential('AK1'), credential('AK2', { appId: 'other' as ApplicationId })];
  assert.equal(chosen([any, its], { ...wake, deviceId }), 'AK2');
  assert.equal(chosen([any], { ...wake, deviceId }), 'AK1');
  assert.equal(chosen([any, its], { ...wake, deviceId: 'UNKNOWN' }), 'AK1');
});
