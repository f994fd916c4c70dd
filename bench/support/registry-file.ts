/** Registry files of any size for benchmarks: one application, one product, devices in no particular order. */
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceId } from '../../src/model/ids.ts';

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

/** One device a line. */
export function makeRegistryFile(file: string, devices: number): void {
  const descriptor = openSync(file, 'w');
  let text = line('application', application) + line('product', product);
  for (let number = 0; number < devices; number++) {
    text += line('device', deviceAt(number));
    if (text.length < 1_000_000 && number < devices - 1) continue;
    writeSync(descriptor, text);
    text = '';
  }
  closeSync(descriptor);
}

/** Of all files below it. */
export function bytesIn(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
