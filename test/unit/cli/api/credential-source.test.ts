import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseCredential } from '../../../../src/cli/api/credential-source.ts';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Credential, Device, Product } from '../../../../src/model/registry.ts';
import type { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';

type Registry = Pick<RegistryStore, 'page' | 'findDevice' | 'findProduct'>;

const deviceId = 'DOOR-1' as DeviceId;
const productId = 'doorbell' as ProductId;

/** Device DOOR-1 is of a product of application `other`. */
function registryOf(credentials: readonly Credential[]): Registry {
  const device: Device = { deviceId, productId, secret: 's', expiresAt: null, disabled: false };
  const product: Product = { productId, appIds: ['other' as ApplicationId] };
  const page = (_kind: string, limit: number, after = ''): Credential[] =>
    credentials.filter(({ accessKeyId }) => accessKeyId > after).slice(0, limit);
  return {
    page: page as RegistryStore['page'],
    findDevice: (id) => (id === deviceId ? device : null),
    findProduct: (id) => (id === productId ? product : null),
  };
}

function credential(accessKeyId: string, more: Partial<Credential> = {}): Credential {
  const base = { secretKey: 's', notBefore: null, notAfter: null, revoked: false };
  const appId = 'app' as ApplicationId;
  return { ...base, accessKeyId: accessKeyId as AccessKeyId, appId, grants: ['*'], ...more };
}

const nowS = 1000;
const wake = { permission: 'wakeup:write', deviceId: null } as const;

test('what is revoked, over, too early or without the permission is passed over', () => {
  const registry = registryOf([
    credential('AK1', { revoked: true }),
    credential('AK2', { notAfter: nowS }),
    credential('AK3', { notBefore: nowS + 1 }),
    credential('AK4', { grants: ['connectivity:read'] }),
    credential('AK5', { grants: ['wakeup:write'] }),
    credential('AK6'),
  ]);
  assert.equal(chooseCredential(registry, wake, nowS)?.accessKeyId, 'AK5');
});

test('a credential whose application has the device goes first, any other before none', () => {
  const registry = registryOf([credential('AK1'), credential('AK2', { appId: 'other' as ApplicationId })]);
  assert.equal(chooseCredential(registry, { ...wake, deviceId }, nowS)?.accessKeyId, 'AK2');
  assert.equal(
    chooseCredential(registryOf([credential('AK1')]), { ...wake, deviceId }, nowS)?.accessKeyId,
    'AK1',
  );
  assert.equal(chooseCredential(registry, { ...wake, deviceId: 'UNKNOWN' }, nowS)?.accessKeyId, 'AK1');
});

test('credentials beyond the first page are looked at', () => {
  const revoked = Array.from({ length: 1500 }, (_, i) =>
    credential(`AK${String(i).padStart(5, '0')}`, { revoked: true }),
  );
  assert.equal(chooseCredential(registryOf(revoked), wake, nowS), null);
  assert.equal(chooseCredential(registryOf([...revoked, credential('AKZ')]), wake, nowS)?.accessKeyId, 'AKZ');
});
