/** Devices, backend and registry of all benchmarks, derived from a device's number. */

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

/** `whsec_` and Base64, as the library requires. */
const webhookSecret = `whsec_${Buffer.from('a secret of benchmarks, for hooks').toString('base64')}`;

/** A registry with one application; with `webhookUrl`, one hook for all of its events. */
export function registryText(devices: number, webhookUrl?: string): string {
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = backendCredential;
  return JSON.stringify({
    applications: [{ app_id, name: 'benchmark' }],
    credentials: [{ access_key_id, secret_key, app_id, permissions: ['*'] }],
    products: [{ product_id: productId, app_ids: [app_id] }],
    devices: Array.from({ length: devices }, (_, index) => {
      const { deviceId: device_id, secret } = deviceIdentity(index);
      return { device_id, product_id: productId, secret };
    }),
    webhooks:
      webhookUrl === undefined ? [] : [{ app_id, url: webhookUrl, secret: webhookSecret, types: ['*'] }],
  });
}
