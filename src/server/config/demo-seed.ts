/**
 * The registry that a first start with nothing configured makes, so that a newcomer has a device to wake: an application with
 * a credential, a product and two devices, all with random secrets. Source: running.md, Data.
 */
import { assert } from '../../lib/assert.ts';
import type { ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Credential, Device } from '../../model/registry.ts';
import { generateAccessKeyId, generateSecret } from '../../storage/registry/generated-secrets.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { RegistryWriter } from '../../storage/registry/registry-write.ts';
import type { Settings } from './settings-schema.ts';
import { isLoopback } from './settings-values.ts';

export interface DemoRegistry {
  readonly credential: Credential;
  readonly devices: readonly Device[];
}

/** Nothing configured, an empty store and loopback listeners; in every other case an empty store stays empty. */
export function wantsDemo(settings: Settings, registry: RegistryStore): boolean {
  const { api, sleep, signal, media, ops } = settings;
  const local = [api, sleep, signal, media, ops].every(({ listen }) => isLoopback(listen));
  return local && settings.registry.file === null && registry.isEmpty();
}

const appId = '2818153' as ApplicationId;
const productId = 'doorbell' as ProductId;
const deviceIds = ['DEMO-DOORBELL-1', 'DEMO-DOORBELL-2'] as DeviceId[];

export async function seedDemo(writer: RegistryWriter): Promise<DemoRegistry> {
  const credential: Credential = {
    accessKeyId: generateAccessKeyId(),
    secretKey: generateSecret(),
    appId,
    grants: ['*'],
    notBefore: null,
    notAfter: null,
    revoked: false,
  };
  const devices = deviceIds.map((deviceId): Device => {
    return { deviceId, productId, secret: generateSecret(), expiresAt: null, disabled: false };
  });
  const puts: { readonly ok: boolean }[] = [
    await writer.put('application', { appId, name: 'demo' }),
    await writer.put('credential', credential),
    await writer.put('product', { productId, appIds: [appId] }),
  ];
  for (const device of devices) puts.push(await writer.putDevice(device));
  assert(
    puts.every(({ ok }) => ok),
    'what the demo refers to was put before it',
  );
  return { credential, devices };
}
