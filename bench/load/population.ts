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

const productId = 'doorbell';
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

/** One application, and with `webhookUrl` one hook for all of its events. Source: running.md, Registry file. */
export function registryText(devices: number, webhookUrl?: string): string {
  const { accessKeyId, secretKey, appId } = backendCredential;
  return JSON.stringify({
    applications: [{ app_id: appId, name: 'benchmark' }],
    credentials: [{ access_key_id: accessKeyId, secret_key: secretKey, app_id: appId, permissions: ['*'] }],
    products: [{ product_id: productId, app_ids: [appId] }],
    devices: Array.from({ length: devices }, (_, index) => {
      const { deviceId, secret } = deviceIdentity(index);
      return { device_id: deviceId, product_id: productId, secret };
    }),
    webhooks:
      webhookUrl === undefined
        ? []
        : [{ app_id: appId, url: webhookUrl, secret: webhookSecret, types: ['*'] }],
  });
}
