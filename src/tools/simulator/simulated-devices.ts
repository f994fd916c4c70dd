/**
 * The simulated devices, from the local registry or generated ids with one secret, and their source addresses.
 */
import { wallSeconds } from '../../lib/clock.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, reveilleCommand, usageError } from '../../cli/shell/command-error.ts';
import { entriesOf, withRegistry } from '../../cli/admin/local-registry.ts';

export interface SimulatedDevice {
  readonly deviceId: string;
  readonly secret: string;
}

export interface DeviceChoice {
  readonly devices: number;
  readonly product?: string;
  readonly prefix?: string;
  readonly secret?: string;
}

/** Throws a CommandError if there are too few. */
export async function chooseDevices(
  context: CommandContext,
  choice: DeviceChoice,
): Promise<SimulatedDevice[]> {
  const { devices: count, product, prefix, secret } = choice;
  if (prefix !== undefined && secret !== undefined)
    return Array.from({ length: count }, (_, i) => ({ deviceId: `${prefix}${i + 1}`, secret }));
  if (secret !== undefined) throw usageError('--secret requires --prefix');
  const nowS = wallSeconds(context.clock);
  const found = await withRegistry(context.dataDirectory, (registry) =>
    findUsable(entriesOf(registry, 'device'), choice, nowS),
  );
  if (found.length === count) return found;
  const which = product === undefined ? '' : ` of product ${product}`;
  throw new CommandError(
    `the registry has only ${found.length} usable devices${which}; ${count} were requested`,
    `add some: ${reveilleCommand('device add ID --product PRODUCT')}, or import a file`,
  );
}

/** Returns the first devices that are neither disabled nor expired. */
async function findUsable(
  devices: AsyncIterable<Device>,
  { devices: count, product, prefix = '' }: DeviceChoice,
  nowS: number,
): Promise<SimulatedDevice[]> {
  const usable: SimulatedDevice[] = [];
  for await (const device of devices) {
    const { deviceId, productId, secret, disabled } = device;
    if (disabled || isExpired(device, nowS) || !deviceId.startsWith(prefix)) continue;
    if (product !== undefined && productId !== product) continue;
    usable.push({ deviceId, secret });
    if (usable.length === count) break;
  }
  return usable;
}

/** Below the server's limit of handshakes per address, and far below the number of ports per address. */
const devicesPerAddress = 900;

/**
 * Loopback source address of a device (`number` from 0); undefined: chosen by the system. Thousands of devices need several
 * addresses, which only Linux and Windows provide without configuration.
 */
export function sourceAddress(number: number, count: number, host: string): string | undefined {
  if (count <= devicesPerAddress || !host.startsWith('127.') || process.platform === 'darwin')
    return undefined;
  const address = 1 + Math.floor(number / devicesPerAddress);
  return `127.0.${Math.floor(address / 250)}.${1 + (address % 250)}`;
}
