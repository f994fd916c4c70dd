/** The devices, the backend and its registry that every figure plays with: all follow from a device's number. */

export interface DeviceIdentity {
  readonly deviceId: string;
  readonly secret: string;
}

export const backendCredential = {
  accessKeyId: 'AKbench0000000000001',
  secretKey: 'a secret of benchmarks, of a usual length',
  appId: '2818153',
};

/** Of another application, whose devices are the last ones of a registry that has some. */
export const neighbourCredential = {
  accessKeyId: 'AKbench0000000000002',
  secretKey: 'another secret of benchmarks, as usual',
  appId: '2818154',
};

const productId = 'doorbell';
const neighbourProductId = 'neighbour';
const idDigits = 7;

export function deviceIdOf(index: number): string {
  return `DEVICE${String(index).padStart(idDigits, '0')}`;
}

export function deviceIdentity(index: number): DeviceIdentity {
  const deviceId = deviceIdOf(index);
  return { deviceId, secret: `the secret of ${deviceId}` };
}

/** `whsec_` and Base64, as the library asks. */
const webhookSecret = `whsec_${Buffer.from('a secret of benchmarks, for hooks').toString('base64')}`;

/** How many entries `registryText` has: an application, a credential, a product and the devices. */
export function registryEntries(devices: number): number {
  return devices + 3;
}

/**
 * One application, and with `webhookUrl` one hook for all of its events; with `neighbours` another one, whose devices are so many of
 * the last. Source: running.md, Registry file.
 */
export function registryText(devices: number, webhookUrl?: string, neighbours = 0): string {
  const owners = [
    { credential: backendCredential, product_id: productId },
    ...(neighbours > 0 ? [{ credential: neighbourCredential, product_id: neighbourProductId }] : []),
  ];
  return JSON.stringify({
    applications: owners.map(({ credential: { appId: app_id } }) => ({ app_id, name: 'benchmark' })),
    credentials: owners.map(({ credential: { accessKeyId, secretKey, appId } }) => ({
      access_key_id: accessKeyId,
      secret_key: secretKey,
      app_id: appId,
      permissions: ['*'],
    })),
    products: owners.map(({ credential: { appId }, product_id }) => ({ product_id, app_ids: [appId] })),
    devices: Array.from({ length: devices }, (_, index) => {
      const { deviceId, secret } = deviceIdentity(index);
      const product_id = index < devices - neighbours ? productId : neighbourProductId;
      return { device_id: deviceId, product_id, secret };
    }),
    webhooks:
      webhookUrl === undefined
        ? []
        : [{ app_id: backendCredential.appId, url: webhookUrl, secret: webhookSecret, types: ['*'] }],
  });
}
