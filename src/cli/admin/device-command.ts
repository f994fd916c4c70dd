/** `reveille device …`: manages single devices. */
import type { Command } from 'commander';
import { wallSeconds } from '../../lib/clock.ts';
import { isExpired } from '../../model/registry.ts';
import type { JsonObject } from '../../model/json.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import {
  changedLabels,
  collect,
  expiryOf,
  formatMoment,
  parseDeviceIdOption,
  parseExpiry,
  parseMoment,
  type Expiry,
} from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { answerSecret, outputOption, type SecretOptions } from '../shell/secret-file.ts';
import { addListCommand, addRemoveCommand, findEntry, refuseExisting } from '../registry/entry-commands.ts';
import { changing, makingSecret } from './ops-action.ts';
import { opsClient } from './running-server.ts';

export function addDeviceCommand(program: Command): void {
  const device = program
    .command('device')
    .description('Add, list, show, change, disable, kick or remove devices.');
  newCommand(device, 'add', 'Add a device to a product.', 'DOOR-1 --product doorbell --expires-at 2027-12-31')
    .argument('<id>', '1-255 bytes of UTF-8', parseDeviceIdOption)
    .requiredOption('--product <id>', 'the product it belongs to')
    .option('--secret <secret>', '16 characters or more (default: generated, and shown once)')
    .option('--expires-at <moment>', 'Unix seconds or ISO 8601 (default: never)', parseMoment)
    .option('--replace', 'give an existing device a new secret')
    .addOption(outputOption())
    .action(inContext(addDevice));
  addListCommand(device, 'device', 'DOOR-1');
  newCommand(device, 'show', 'Show the registry entry of a device; its secret is masked.', 'DOOR-1')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action(inContext(showDevice));
  newCommand(
    device,
    'set',
    'Change a device; fields without an option stay as they are.',
    'DOOR-1 --expires-at never --label site=north',
    ['DOOR-1 --secret', 'the device needs the new secret to log in again'],
  )
    .argument('<id>', 'the device', parseDeviceIdOption)
    .option('--expires-at <moment>', 'Unix seconds, ISO 8601, or never', parseExpiry)
    .option('--secret [secret]', 'a new secret; without a text it is generated, and shown once')
    .option('--product <id>', 'another product')
    .option('--label <key=value>', 'a label; an empty value removes it; may be repeated', collect)
    .addOption(outputOption())
    .action(
      makingSecret('/v1/device/set', {
        send: changeOf,
        describe: ({ device }: DeviceAnswer, _context, _id, { secret }) =>
          describeChanged(device, secret === true),
      }),
    );
  newCommand(device, 'disable', 'Treat a device as nonexistent, and end its sessions.', 'DOOR-1')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .option('--enable', 'enable the device again')
    .action(
      changing('/v1/device/disable', {
        send: (id: string, { enable = false }: { readonly enable?: boolean }) => ({
          device_id: id,
          disabled: !enable,
        }),
        describe: (_device, _context, id, { enable }) =>
          `${showable(id)} is ${enable === true ? 'enabled' : 'disabled'}`,
      }),
    );
  newCommand(
    device,
    'kick',
    "End a device's signal and sleep sessions; it may log in again. Exits 1 if there are none.",
    ['DOOR-1', 'its controller gets close code 4410'],
  )
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action(inContext(kickDevice));
  addRemoveCommand(device, 'device', 'DOOR-1', 'Remove a device: its sessions and calls end.');
}

interface AddOptions extends SecretOptions {
  readonly product: string;
  readonly secret?: string;
  /** Unix seconds. */
  readonly expiresAt?: number;
  readonly replace?: boolean;
}

async function addDevice(context: CommandContext, id: string, options: AddOptions): Promise<void> {
  if (options.replace !== true) await refuseExisting(context, 'device', id, 'secret');
  const { product, secret, expiresAt } = options;
  const entry = { device_id: id, product_id: product, secret, expires_at: expiresAt };
  await answerSecret(context, options, async () => {
    const { device } = await opsClient(context).change<DeviceAnswer>('/v1/device/add', entry);
    const added = `added ${showable(id)} to product ${showable(product)}`;
    // The server returns a secret only if it generated it.
    return [{ device }, secret === undefined ? `${added}\nsecret  ${String(device['secret'])}` : added];
  });
}

interface DeviceEntry {
  readonly device_id: string;
  readonly product_id: string;
  readonly expires_at: number | null;
  readonly disabled: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

async function showDevice(context: CommandContext, id: string): Promise<void> {
  const { clock, output } = context;
  const device = await findEntry<DeviceEntry>(context, 'device', id);
  const { product_id: productId, expires_at: expiresAt, labels = {} } = device;
  const product = await findEntry<{ app_ids: readonly string[] }>(context, 'product', productId);
  const expired = isExpired({ expiresAt }, wallSeconds(clock)) ? ' (expired)' : '';
  const rows = [
    ['device', device.device_id],
    ['product', productId],
    ['applications', product.app_ids.join(', ')],
    ['expires', formatMoment(expiresAt, 'never') + expired],
    ['disabled', device.disabled ? 'yes' : 'no'],
    ...Object.entries(labels).map(([key, value]) => [`label ${key}`, value]),
  ];
  output.answer({ device, app_ids: product.app_ids }, alignColumns(rows));
}

interface SetOptions extends SecretOptions {
  readonly product?: string;
  readonly secret?: string | true;
  readonly expiresAt?: Expiry;
  readonly label?: readonly string[];
}

function changeOf(id: string, { product, secret, expiresAt, label, output }: SetOptions): object {
  if (output !== undefined && secret !== true)
    throw usageError('--output needs a generated secret', 'add --secret without a text, which generates one');
  const terms = {
    product_id: product,
    secret,
    expires_at: expiryOf(expiresAt),
    labels: changedLabels(label),
  };
  if (Object.values(terms).every((value) => value === undefined))
    throw usageError('nothing to change', 'name a change, such as --expires-at never');
  return { device_id: id, ...terms };
}

function describeChanged(device: JsonObject, isSecretNew: boolean): string {
  const words = [
    showable(String(device['device_id'])),
    showable(String(device['product_id'])),
    device['disabled'] === true ? 'disabled' : 'enabled',
    `expires ${formatMoment(device['expires_at'] as number | null, 'never')}`,
  ].join('  ');
  return isSecretNew ? `${words}\nsecret  ${String(device['secret'])}  (shown this once)` : words;
}

async function kickDevice(context: CommandContext, id: string): Promise<void> {
  const body = { device_id: id };
  const { kicked, sessions } = await opsClient(context).change<KickAnswer>('/v1/device/kick', body);
  if (!kicked) throw new CommandError(`${showable(id)} has no session: nothing to end`);
  const ended = sessions.length === 2 ? `${sessions.join(' and ')} sessions` : `${sessions.join()} session`;
  context.output.answer({ kicked, sessions }, `ended the ${ended} of ${showable(id)}`);
}

interface DeviceAnswer {
  readonly device: JsonObject;
}

interface KickAnswer {
  readonly kicked: boolean;
  /** The kinds of session that were ended: `signal`, `sleep`. */
  readonly sessions: readonly string[];
}
