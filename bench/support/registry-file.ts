/** Registry files of any size for benchmarks: one application, one product, devices in no particular order. */
import type { DeviceId } from '../../src/model/ids.ts';
import type { RegistryForm } from '../../src/storage/registry/registry-text.ts';

/** A multiplication modulo 2^32 spreads the ids, so that neighbours in the file are none in the store. */
export function deviceIdAt(number: number): DeviceId {
  return `DEV-${Math.imul(number, 0x9e3779b1) >>> 0}-${number}` as DeviceId;
}

const application = { app_id: '2818153', name: 'bench' };
const product = { product_id: 'doorbell', app_ids: ['2818153'] };

function deviceAt(number: number): object {
  const secret = `secret-of-device-${number}-0123456789abcdef`;
  return { device_id: deviceIdAt(number), product_id: 'doorbell', secret, expires_at: null, disabled: false };
}

function line(kind: string, entry: object): string {
  return `${JSON.stringify({ kind, ...entry })}\n`;
}

export function writeRegistryFile(devices: number, form: RegistryForm, write: (text: string) => void): void {
  const isDocument = form === 'document';
  if (isDocument)
    write(`{"applications":[${JSON.stringify(application)}],"products":[${JSON.stringify(product)}],`);
  else write(line('application', application) + line('product', product));
  if (isDocument) write('"devices":[');
  let text = '';
  for (let number = 0; number < devices; number++) {
    const device = deviceAt(number);
    text += isDocument ? `${number === 0 ? '' : ',\n'}${JSON.stringify(device)}` : line('device', device);
    if (text.length < 1_000_000 && number < devices - 1) continue;
    write(text);
    text = '';
  }
  if (isDocument) write(']}\n');
}
