/** `reveille device …`: one device at a time. */
import type { Command } from 'commander';
import { wallSeconds } from '../../lib/clock.ts';
import { isExpired } from '../../model/registry.ts';
import type { JsonObject } from '../../model/json.ts';
import { CommandError } from '../shell/command-error.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { formatMoment, parseDeviceIdOption, parseMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { addSetCommand } from '../registry/device-set-command.ts';
import { addRemoveCommand, findEntry, isInRegistry } from '../registry/entry-commands.ts';
import { opsClient } from './running-server.ts';

export function addDeviceCommand(program: Command): void {
  const device = program
    .command('device')
    .description('Add, show, change, disable, kick or remove one device.');
  addExamples(
    device,
    ['device add DOOR-1 --product doorbell', 'a new device; its secret is made and shown'],
    ['device show DOOR-1', 'what the registry has of it'],
  );
  addAdd(device);
  addShow(device);
  addSetCommand(device);
  addDisable(device);
  addKick(device);
  addRemoveCommand(device, 'device', 'DOOR-1', 'Remove a device: its sessions and calls end.');
}

function addAdd(device: Command): void {
  const command = device
    .command('add')
    .description('Add a device to a product. Its secret is made when none is given, and shown.')
    .argument('<id>', '1-255 bytes of UTF-8', parseDeviceIdOption)
    .requiredOption('--product <id>', 'the product it belongs to')
    .option('--secret <secret>', 'what its login proves, 16 characters or more; made when left out')
    .option('--expires-at <moment>', 'Unix seconds or ISO 8601; never when left out', parseMoment)
    .option('--replace', 'also when there is a device of this id: it gets a new secret')
    .action(inContext(addDevice));
  addExamples(
    command,
    ['device add DOOR-1 --product doorbell', 'with a secret that is made here'],
    ['device add DOOR-1 --product doorbell --expires-at 2027-12-31', 'until a day'],
    ['device add DOOR-1 --product doorbell --replace', 'a new secret for a device that is there'],
  );
}

function addShow(device: Command): void {
  const command = device
    .command('show')
    .description('Show what the registry has of a device; its secret is masked.')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action(inContext(showDevice));
  addExamples(command, ['device show DOOR-1', 'for people'], ['device show DOOR-1 --json', 'for machines']);
}

function addDisable(device: Command): void {
  const command = device
    .command('disable')
    .description('Answer a device like one that does not exist, and end its sessions.')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .option('--enable', 'the other way round')
    .action(inContext(disableDevice));
  addExamples(
    command,
    ['device disable DOOR-1', 'from now on'],
    ['device disable DOOR-1 --enable', 'back again'],
  );
}

function addKick(device: Command): void {
  const command = device
    .command('kick')
    .description("End a device's signal and sleep sessions; it may log in again. Exits 1 when it has none.")
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action(inContext(kickDevice));
  addExamples(
    command,
    ['device kick DOOR-1', 'its controller is told with close code 4410; both may log in anew'],
    ['device kick DOOR-1 --json', 'for machines: {"kicked":true,"sessions":["signal","sleep"]}'],
  );
}

interface AddOptions {
  readonly product: string;
  readonly secret?: string;
  /** Unix seconds. */
  readonly expiresAt?: number;
  readonly replace?: boolean;
}

async function addDevice(context: CommandContext, id: string, options: AddOptions): Promise<void> {
  const { output } = context;
  if (options.replace !== true && (await isInRegistry(context, 'device', id)))
    throw new CommandError(
      `device ${JSON.stringify(id)} is in the registry already`,
      'give it a new secret with --replace: what logs in with the old one is locked out',
    );
  const { product, secret, expiresAt } = options;
  const entry = { device_id: id, product_id: product, secret, expires_at: expiresAt };
  const { device } = await opsClient(context).change<DeviceAnswer>('/v1/device/add', entry);
  const added = `added ${showable(id)} to product ${showable(product)}`;
  // The server shows only a secret that it made.
  output.answer({ device }, secret === undefined ? `${added}\nsecret  ${String(device['secret'])}` : added);
}

/** Fields of an entry. */
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

interface DisableOptions {
  readonly enable?: boolean;
}

async function disableDevice(
  context: CommandContext,
  id: string,
  { enable = false }: DisableOptions,
): Promise<void> {
  const disabled = !enable;
  const body = { device_id: id, disabled };
  const { device } = await opsClient(context).change<DeviceAnswer>('/v1/device/disable', body);
  context.output.answer({ device }, `${showable(id)} is ${disabled ? 'disabled' : 'enabled'}`);
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
  /** The kinds that were ended, of `signal` and `sleep`. */
  readonly sessions: readonly string[];
}
