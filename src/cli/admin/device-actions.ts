/** What `reveille device …` does. */
import { wallSeconds } from '../../lib/clock.ts';
import type { DeviceId } from '../../model/ids.ts';
import { isExpired } from '../../model/registry.ts';
import { generateSecret } from '../../storage/registry/generated-secrets.ts';
import { writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { reveilleCommand } from '../api/invocation.ts';
import { findOpsClient } from './ops-client.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { changeRegistry } from './change-registry.ts';
import { isInRegistry, lookIntoRegistry } from './registry-look.ts';
import { showable } from '../shell/showable.ts';

export interface AddDeviceOptions {
  readonly product: string;
  readonly secret?: string;
  /** Unix seconds. */
  readonly expiresAt?: number;
  readonly replace?: boolean;
}

export async function addDevice(
  context: CommandContext,
  id: string,
  options: AddDeviceOptions,
): Promise<void> {
  const { clock, dataDirectory, output, settings } = context;
  if (options.replace !== true && (await isInRegistry(dataDirectory, 'device', id)))
    throw new CommandError(
      `device ${JSON.stringify(id)} is in the registry already`,
      'give it a new secret with --replace: what logs in with the old one is locked out',
    );
  const { product, secret: given } = options;
  const secret = given ?? generateSecret();
  const entry = {
    device_id: id,
    product_id: product,
    secret,
    expires_at: options.expiresAt ?? null,
    disabled: false,
  };
  const rules = { allowShortSecrets: settings.registry.allow_short_secrets };
  const device = await changeRegistry(dataDirectory, clock, (changes) => changes.putDevice(entry, rules));
  const added = `added ${showable(id)} to product ${showable(product)}`;
  // Who gave the secret knows it.
  if (given !== undefined) return output.answer({ device }, added);
  output.answer({ device: { ...device, secret } }, `${added}\nsecret  ${secret}`);
}

export async function showDevice(
  { clock, dataDirectory, output }: CommandContext,
  id: string,
): Promise<void> {
  const found = await lookIntoRegistry(dataDirectory, (registry) => {
    const device = registry.findDevice(id as DeviceId);
    return device && { device, appIds: registry.findProduct(device.productId)?.appIds ?? [] };
  });
  if (found === null) throw unknownDevice(id);
  const { device, appIds } = found;
  const expired = isExpired(device, wallSeconds(clock)) ? ' (expired)' : '';
  const rows = [
    ['device', device.deviceId],
    ['product', device.productId],
    ['applications', appIds.join(', ')],
    ['expires', formatMoment(device.expiresAt, 'never') + expired],
    ['disabled', device.disabled ? 'yes' : 'no'],
  ];
  output.answer({ device: maskSecrets(writeEntry('device', device)), app_ids: appIds }, alignColumns(rows));
}

export function unknownDevice(id: string): CommandError {
  return new CommandError(
    `no device ${JSON.stringify(id)} in the registry`,
    `add it: ${reveilleCommand(`device add ${showable(id)} --product PRODUCT`)}`,
  );
}

export async function disableDevice(context: CommandContext, id: string, disabled: boolean): Promise<void> {
  const { clock, dataDirectory, output } = context;
  const device = await changeRegistry(dataDirectory, clock, (changes) => changes.disableDevice(id, disabled));
  output.answer({ device }, `${showable(id)} is ${disabled ? 'disabled' : 'enabled'}`);
}

export async function kickDevice({ dataDirectory, output }: CommandContext, id: string): Promise<void> {
  const ops = findOpsClient(dataDirectory);
  if (ops === null)
    throw new CommandError(
      `no server runs on ${dataDirectory}, so no device has a session`,
      'name the data directory of the running server with --data-dir',
    );
  const { kicked, sessions } = await ops.change<KickAnswer>('/v1/device/kick', { device_id: id });
  const ended = sessions.length === 2 ? `${sessions.join(' and ')} sessions` : `${sessions.join()} session`;
  output.answer(
    { kicked, sessions },
    kicked ? `ended the ${ended} of ${showable(id)}` : `${showable(id)} has no session: nothing to end`,
  );
}

interface KickAnswer {
  readonly kicked: boolean;
  /** Those that were ended, of `signal` and `sleep`. */
  readonly sessions: readonly string[];
}
