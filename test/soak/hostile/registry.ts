/** The registry of the soak: the application that is watched, and the attackers' application. */
import { createHash } from 'node:crypto';

export const credential = { accessKeyId: 'AKsoak', secretKey: 'a secret of the soak', appId: '2818153' };
export const bridgeKey = 'key-of-the-bridges-of-the-soak';
export const watchedDevice = 'WATCHED';
export const newcomerDevices = Array.from({ length: 20 }, (_, index) => `NEWCOMER${index}`);

export const attacker = {
  credential: { accessKeyId: 'AKattacker', secretKey: 'a secret of the attacker', appId: '9999999' },
  bridgeKey: 'key-of-the-bridges-of-the-attacker',
  devices: Array.from({ length: 40 }, (_, index) => attackerDevice(index)),
};

export function attackerDevice(index: number): string {
  return `ATTACKER${index}`;
}

export function sleepingDevice(index: number): string {
  return `SOAK${String(index).padStart(5, '0')}`;
}

export function secretOf(deviceId: string): string {
  return `the secret of the device ${deviceId}`;
}

export function registry(sleeping: number): object {
  const watched = [
    watchedDevice,
    ...newcomerDevices,
    ...Array.from({ length: sleeping }, (_, index) => sleepingDevice(index)),
  ];
  const applications = [
    { name: 'soak', product_id: 'doorbell', credential, key: bridgeKey, ids: watched },
    {
      name: 'attacker',
      product_id: 'attackers-doorbell',
      credential: attacker.credential,
      key: attacker.bridgeKey,
      ids: attacker.devices,
    },
  ];
  return {
    applications: applications.map(({ name, credential: { appId } }) => ({ app_id: appId, name })),
    credentials: applications.map(({ credential: { accessKeyId, secretKey, appId } }) => ({
      access_key_id: accessKeyId,
      secret_key: secretKey,
      app_id: appId,
      permissions: ['*'],
    })),
    products: applications.map(({ product_id, credential: { appId } }) => ({ product_id, app_ids: [appId] })),
    bridges: applications.map(({ name, key, credential: { appId } }) => ({
      bridge_id: `bridge-of-${name}`,
      key_sha256: createHash('sha256').update(key).digest('hex'),
      app_ids: [appId],
    })),
    devices: applications.flatMap(({ product_id, ids }) =>
      ids.map((device_id) => ({ device_id, product_id, secret: secretOf(device_id) })),
    ),
  };
}
